/**
 * Compares the two walks of docs/architecture.md with the files in which a token request and an event really run a function. The first
 * table of a walk tells its story and stays short.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { baseEnvironment } from '../support/environment.ts';

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const architecture = readFileSync(path('../../docs/architecture.md'), 'utf8');

describe('docs/architecture.md', () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--import',
      path('../support/ran-files.mjs'),
      path('../support/walks.ts'),
    ],
    { encoding: 'utf8', env: baseEnvironment() },
  );
  for (const { name, heading, story, most } of [
    { name: 'token', heading: 'A token request', story: 12, most: 28 },
    { name: 'event', heading: 'An event', story: 20, most: 60 },
  ] as const) {
    it(`tells of ${heading.toLowerCase()} in at most ${story} files, and lists all ${most}`, () => {
      assert.notEqual(stdout, '', stderr);
      const walks: Record<'token' | 'event', string[]> = JSON.parse(stdout);
      const [read = [], called = []] = listed(heading);
      assert.deepEqual([...read, ...called].sort(), walks[name]);
      assert.ok(read.length <= story, `${read.length} files in the first table`);
      assert.ok(walks[name].length <= most, `${walks[name].length} files`);
    });
  }
});

/** The files in the first column of each table below a heading. */
function listed(heading: string): string[][] {
  const [, section = ''] = architecture.split(`### ${heading}\n`);
  const [tables = ''] = section.split('\n#');
  return tables
    .split('|---|')
    .slice(1)
    .map((table) => [...table.matchAll(/^\| `([^`]+\.ts)` \|/gm)].map(([, file = '']) => file));
}
