/** An import that a kill ends in the middle. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { cleanUp } from '../support/cleanup.ts';
import { commandLine } from '../support/command.ts';
import { initialised } from '../support/command-folder.ts';
import { svixExport } from '../support/exports.ts';
import { only } from '../support/journey.ts';

it('after kill -9 in the middle of an import another run makes the rest, and nothing twice', async (t) => {
  const folder = await initialised(t);
  const given = svixExport();
  const application = only(given.applications);
  const [endpoint] = application.endpoints.data;
  const applications = Array.from({ length: 120 }, (_, n) => ({
    ...application,
    uid: `acct_${n}`,
    endpoints: [{ ...endpoint, id: `ep_${n}` }],
  }));
  const file = join(dirname(folder.dataDir), 'many.json');
  writeFileSync(file, JSON.stringify({ ...given, applications }));
  const db = new BetterSqlite3(join(folder.dataDir, DATABASE_FILE), { readonly: true });
  cleanUp(t, () => db.close());
  const count = (table: string): number => Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  const others = count('customer');

  const [node = '', ...line] = commandLine(['import', 'svix', file, '--apply', '--data', folder.dataDir]);
  const child = spawn(node, line, { stdio: 'ignore' });
  cleanUp(t, () => child.kill('SIGKILL'));
  const looking = setInterval(() => {
    if (count('endpoint') >= 10) child.kill('SIGKILL');
  }, 1);
  const [, signal] = await once(child, 'exit').finally(() => clearInterval(looking));
  assert.equal(signal, 'SIGKILL');
  const before = count('endpoint');
  assert.ok(before >= 10 && before < applications.length, String(before));

  await folder.json(['import', 'svix', file, '--apply']);
  assert.deepEqual(
    [count('customer') - others, count('endpoint'), count('webhook')],
    [applications.length, applications.length, applications.length],
  );
  const report = await folder.json<{ readonly made: number; readonly there: number }>(['import', 'svix', file]);
  assert.deepEqual([report.made, report.there], [0, 1 + 2 * applications.length]);
});
