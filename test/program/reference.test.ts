/** Compares docs/embedding.md with the options, the methods and the exported types of the package. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createSallyport } from 'sallyport';
import { readConfig } from '../../src/config/config.ts';
import { SETTING_NAMES, SETTINGS } from '../../src/config/names.ts';
import { cleanUp } from '../support/cleanup.ts';
import { unusedFolder } from '../support/command.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/embedding.md');

/** The rows of the table whose first column has this heading. */
function tableOf(text: string, heading: string): string[][] {
  const [, body = ''] = new RegExp(`^\\| ${heading} \\|.*\\n\\|[-|]+\\n((?:\\|.*\\n)+)`, 'm').exec(text) ?? [];
  assert.notEqual(body, '', `there is no table of ${heading}`);
  const rows = body.trimEnd().split('\n');
  return rows.map((row) => row.slice(2, -2).split(' | '));
}

/** The names that a cell has as code, without arguments: `create(input)` is `create`. */
function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([\w.]+)(?:\([^`]*\))?`/g)].map(([, name = '']) => name);
}

const FIVE = ['create', 'get', 'list', 'update', 'delete'];

describe('embedding.md', () => {
  it('lists every option, with the default that configuration.md has for its setting', () => {
    const rows = tableOf(page, 'option');
    assert.deepEqual(rows.flatMap(([name]) => namesIn(name)).sort(), [...SETTING_NAMES, 'log'].sort());
    const settings = new Map(tableOf(read('docs/configuration.md'), 'variable').map(([name, value]) => [name, value]));
    const defaults = readConfig({});
    for (const [option, value, fallback] of rows) {
      const name = SETTING_NAMES.find((setting) => option === `\`${setting}\``);
      if (name === undefined) continue;
      assert.equal(fallback, settings.get(`\`${SETTINGS[name].variable}\``), option);
      assert.equal(value === 'number', typeof defaults[name] === 'number', option);
      assert.equal(value === 'list', Array.isArray(defaults[name]), option);
    }
  });

  it('lists every method', async (t) => {
    const sallyport = await createSallyport({ dataDir: unusedFolder(t), logLevel: 'silent' });
    cleanUp(t, () => sallyport.stop());
    assert.deepEqual(
      tableOf(page, 'method of a resource').flatMap(([name]) => namesIn(name)),
      FIVE,
    );
    const listed = [
      ...[...tableOf(page, 'method'), ...tableOf(page, 'other methods')].flatMap(([name]) => namesIn(name)),
      ...tableOf(page, 'resource').flatMap(([name, further]) =>
        [...FIVE, ...namesIn(further)].map((method) => `${namesIn(name)[0]}.${method}`),
      ),
    ];
    const found = Object.entries(sallyport).flatMap(([name, part]) =>
      isGroup(part) ? Object.keys(part).map((method) => `${name}.${method}`) : [name],
    );
    assert.deepEqual(
      listed.sort(),
      found
        .filter((name) => !name.startsWith('firstCredentials.'))
        .concat('firstCredentials')
        .sort(),
    );
  });

  it('names every export of the package', () => {
    const [names = ''] = read('test/guards/declarations/sallyport.txt').replace('exports ', '').split('\n');
    const named = new Set([...page.matchAll(/`(\w+)(?:\([^`]*\))?`/g)].map(([, name]) => name));
    assert.deepEqual(
      names.split(', ').filter((name) => !named.has(name)),
      [],
    );
  });
});

function isGroup(part: unknown): part is object {
  return part !== null && typeof part === 'object' && !(part instanceof Promise);
}
