/** Each shell command of README.md and docs/ runs in test/docs/commands.slow.test.ts, or has a reason not to. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commandsIn } from '../support/documented-commands.ts';
import { ELSEWHERE, JOURNEYS, PAGES_ELSEWHERE, reasonOf } from '../support/documented-journeys.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('the commands of the documentation', () => {
  const folders = ['docs', 'docs/how-to'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  );
  const all = ['README.md', ...folders].filter((name) => name.endsWith('.md'));

  it('all run, or have a reason not to', () => {
    const run = new Set(JOURNEYS.flatMap(({ pages }) => pages));
    const loose = all
      .filter((page) => !run.has(page))
      .flatMap((page) =>
        commandsIn(page)
          .filter(({ text }) => reasonOf(page, text) === null)
          .map(({ text, line }) => `${page}:${line}: ${text}`),
      );
    assert.deepEqual(loose, []);
  });

  it('have no reason for a command or a page that does not exist', () => {
    const texts = all.flatMap((page) => commandsIn(page).map(({ text }) => text));
    for (const start of Object.keys(ELSEWHERE))
      assert.ok(
        texts.some((text) => text.startsWith(start)),
        start,
      );
    for (const page of Object.keys(PAGES_ELSEWHERE)) assert.ok(all.includes(page), page);
  });
});
