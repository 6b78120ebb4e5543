/** Checks that the sections of the contract that the code cites exist. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const contract = readFileSync(join(root, 'docs', 'contract.md'), 'utf8');
/** Matches `§5`, and a subheading or leading bold words such as `Outcome` and `Brute force`. */
const CITATION = /contract §(\d+)(?:\.?\s+"([^"]+)")?/g;

test('every section of the contract that the code cites exists', () => {
  const missing = citations().filter(({ section, title }) => {
    const text = sectionOf(section);
    if (text === null) return true;
    return title !== null && !text.includes(`\n### ${title}\n`) && !text.includes(`**${title}`);
  });
  assert.deepEqual(missing, []);
});

test('the code cites the contract', () => {
  const cited = new Set(citations().map(({ section }) => section));
  assert.deepEqual([...cited].sort(), ['1', '2', '3', '4', '5', '6', '8']);
});

function sectionOf(number: string): string | null {
  const start = contract.indexOf(`\n## §${number} `);
  if (start === -1) return null;
  const end = contract.indexOf('\n## ', start + 1);
  return contract.slice(start, end === -1 ? undefined : end);
}

function citations(): { file: string; section: string; title: string | null }[] {
  const files = ['src', 'test', 'scripts', 'schema.sql'].flatMap((path) => filesBelow(join(root, path)));
  return files
    .filter(
      (file) => /\.(ts|mjs|js|sql)$/.test(file) && !file.includes('node_modules') && file !== import.meta.filename,
    )
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(CITATION)].map(([, section = '', title]) => ({
        file: file.slice(root.length),
        section,
        title: title ?? null,
      })),
    );
}

function filesBelow(path: string): string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
}
