/** Compares the two walks of docs/architecture.md with the files that a token request and an event really pass. */
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
  for (const { name, heading, most } of [
    { name: 'token', heading: 'A token request', most: 25 },
    { name: 'event', heading: 'An event', most: 55 },
  ] as const) {
    it(`lists the files that ${heading.toLowerCase()} passes, at most ${most}`, () => {
      assert.notEqual(stdout, '', stderr);
      const walks: Record<'token' | 'event', string[]> = JSON.parse(stdout);
      assert.deepEqual(listed(heading), walks[name]);
      assert.ok(walks[name].length <= most, `${walks[name].length} files`);
    });
  }
});

/** The files in the first column of the table below a heading. */
function listed(heading: string): string[] {
  const [, section = ''] = architecture.split(`### ${heading}\n`);
  const [table = ''] = section.split('\n#');
  return [...table.matchAll(/^\| `([^`]+\.ts)` \|/gm)].map(([, file = '']) => file).sort();
}
