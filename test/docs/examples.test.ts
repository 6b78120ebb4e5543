/** Runs every example of docs/examples and compares what it prints with the comment at its end. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { format } from 'node:util';
import { cleanUp } from '../../docs/examples/set-up.ts';

const folder = new URL('../../docs/examples/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const files = readdirSync(folder);
/** Programs that run until they are stopped. test/e2e/embedding-*.test.ts runs them. */
const servers = ['embedding-node.ts', 'embedding-express.ts', 'embedding-fastify.ts'];
const examples = files.filter((name) => name.endsWith('.ts') && ![...servers, 'set-up.ts'].includes(name));

describe('an example prints what its comment says', () => {
  for (const name of examples) {
    it(name, async () => {
      assert.equal(await outputOf(name), expectedOutput(name));
    });
  }
});

describe('the page about the examples', () => {
  const page = read('README.md');

  it('links every file, and no other', () => {
    const linked = [...page.matchAll(/\]\(([\w.-]+)\)/g)].map(([, target = '']) => target);
    assert.deepEqual([...new Set(linked)].sort(), files.filter((name) => name !== 'README.md').sort());
  });

  it('says of every example what its first line says', () => {
    for (const name of examples) {
      const [, summary = ''] = /^\/\*\* (.*) \*\/\n/.exec(read(name)) ?? [];
      assert.ok(page.includes(`| [${name}](${name}) | ${summary} |`), `${name}: ${summary}`);
    }
  });
});

it('embed-in-node.md shows its programs', () => {
  const page = read('../how-to/embed-in-node.md');
  for (const name of servers) assert.ok(page.includes(`\n\`\`\`ts\n${read(name)}\`\`\`\n`), name);
});

it('back-up-and-restore.md shows the commands of backup-and-restore.sh', () => {
  const [, drill = ''] = read('../how-to/back-up-and-restore.md').split('\n## Disaster drill\n');
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(drill) ?? [];
  const isCommand = (line: string): boolean => line !== '' && !line.startsWith('#') && line !== 'set -eu';
  assert.equal(`${read('backup-and-restore.sh').split('\n').filter(isCommand).join('\n')}\n`, block);
});

/** An example is a module that does its work when it is imported. */
async function outputOf(name: string): Promise<string> {
  const { log } = console;
  const lines: string[] = [];
  console.log = (...values: unknown[]): void => {
    lines.push(format(...values));
  };
  try {
    await import(new URL(name, folder).href);
  } finally {
    console.log = log;
    await cleanUp();
  }
  return lines.join('\n');
}

function expectedOutput(name: string): string {
  const [, comment = ''] = read(name).split('\n// Output:\n');
  const lines = comment.trimEnd().split('\n');
  assert.ok(
    lines.every((line) => line.startsWith('// ')),
    `${name} must end with // Output: and its lines`,
  );
  return lines.map((line) => line.slice('// '.length)).join('\n');
}
