import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { cannotListen } from '../../src/cli/errors.ts';
import { dataOption, programName } from '../../src/cli/text/program-name.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SCRIPTS = join(ROOT, 'scripts');

test('a printed command begins with words that the shell finds from its folder', (t) => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'elsewhere-'));
  t.after(() => rmSync(elsewhere, { recursive: true }));
  assert.equal(programName({ PATH: `/nowhere:${SCRIPTS}` }, elsewhere), 'sallyport');
  assert.equal(programName({ PATH: '/nowhere' }, ROOT), 'scripts/sallyport');
  assert.equal(programName({}, elsewhere), join(SCRIPTS, 'sallyport'));
});

test('a printed command names the data folder unless it is the default one', () => {
  const option = (dataDir: string): string => dataOption({ dataDir, databaseUrl: null }, '/work');
  assert.equal(option('/work/data'), '');
  assert.equal(option('/var/lib/sallyport'), ' --data /var/lib/sallyport');
  assert.equal(option("/it's here"), ` --data '/it'\\''s here'`);
});

test('a taken port is refused with another one, as npm start takes it', () => {
  const taken = (address: string): Error => Object.assign(new Error('taken'), { code: 'EADDRINUSE', address });
  const cases: readonly (readonly [Parameters<typeof cannotListen>, string])[] = [
    [[taken('127.0.0.1'), '', 8080], 'another program listens on 127.0.0.1:8080. Stop it, or start with --port 8081'],
    [[taken('::1'), '', 65_535], 'another program listens on [::1]:65535. Stop it, or start with --port 65534'],
    [
      [taken('127.0.0.1'), '--port: ', 80, true],
      '--port: another program listens on 127.0.0.1:80. Stop it, or run: npm start -- --port 81',
    ],
    [[new Error('no such address'), '--host: ', 80], '--host: cannot listen: no such address'],
  ];
  for (const [args, message] of cases) assert.equal(cannotListen(...args).message, message);
});
