/** Checks that the sections of the contract that code and pages cite exist. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const contract = readFileSync(join(root, 'docs', 'contract.md'), 'utf8');
/** The number of each heading, such as `5` and `5.8`, in the order of the page. */
const sections = [...contract.matchAll(/^##+ (\S+) /gm)].map(([, number = '']) => number.replace(/\.$/, ''));
/** `contract §5.8` and `contract §4.2, §5.10`. */
const CITATION = /contract (§[\d.]*\d(?:(?:,| and) §[\d.]*\d)*)/gi;

/** The line break within a comment. */
const CONTINUED = /\n\s*(?:\*|\/\/|--) /g;

test('the sections of the contract are numbered without gaps', () => {
  let [major, minor] = [0, 0];
  const expected = sections.map((number) => {
    if (number.includes('.')) minor += 1;
    else [major, minor] = [major + 1, 0];
    return minor === 0 ? `${major}` : `${major}.${minor}`;
  });
  assert.ok(sections.length > 50);
  assert.deepEqual(sections, expected);
});

test('every section of the contract that code, tests or pages cite exists', () => {
  const missing = citations().filter(({ section }) => !sections.includes(section));
  assert.deepEqual(missing, []);
});

test('every citation names a rule, not a section that has numbered rules', () => {
  const bare = citations().filter(({ section }) => sections.some((number) => number.startsWith(`${section}.`)));
  assert.deepEqual(bare, []);
});

test('no citation names a section of the contract by its title', () => {
  const byTitle = citedFiles().filter((file) => /§[\d.]+ "/.test(readFileSync(file, 'utf8')));
  assert.deepEqual(byTitle, []);
});

test('the contract refers to sections of its own that exist', () => {
  const own = contract.replaceAll(/RFC \d+ §[\d.]*\d/g, '');
  const missing = [...own.matchAll(/§([\d.]*\d)/g)].filter(([, number = '']) => !sections.includes(number));
  assert.deepEqual(missing, []);
});

test('the code cites every part of the contract', () => {
  const cited = new Set(citations().map(({ section }) => section.replace(/\..*/, '')));
  assert.deepEqual(
    sections.filter((number) => !number.includes('.') && !cited.has(number)),
    [],
  );
});

function citations(): { file: string; section: string }[] {
  return citedFiles().flatMap((file) =>
    [...readFileSync(file, 'utf8').replaceAll(CONTINUED, ' ').matchAll(CITATION)].flatMap(([, list = '']) =>
      [...list.matchAll(/[\d.]*\d/g)].map(([section]) => ({ file: file.slice(root.length), section })),
    ),
  );
}

function citedFiles(): string[] {
  return ['src', 'test', 'scripts', 'docs', 'schema.sql', 'CONTRIBUTING.md']
    .flatMap((path) => filesBelow(join(root, path)))
    .filter(
      (file) => /\.(ts|mjs|js|sql|md)$/.test(file) && !file.includes('node_modules') && file !== import.meta.filename,
    );
}

function filesBelow(path: string): string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
}
