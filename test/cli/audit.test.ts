import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { sallyport } from '../support/command.ts';
import { initialised } from '../support/command-folder.ts';
import { makeEventType } from '../support/journey.ts';
import { startService } from '../support/service.ts';

type Verified = { readonly entries: number; readonly head: string };

function tamper(dataDir: string, sql: string): void {
  const connection = new BetterSqlite3(join(dataDir, 'sallyport.db'));
  connection.exec(sql);
  connection.close();
}

test('the head of the audit log is logged at the start and at a stop, and stays in the chain', async (t) => {
  const service = await startService(t);
  const { dataDir } = service;
  const { head: first } = await service.log.line(({ msg }) => msg === 'audit log head');
  await makeEventType(service.admin, 'order.placed');
  await service.stop();
  const heads = service.log.lines().flatMap(({ msg, head }) => (msg === 'audit log head' ? [String(head)] : []));
  assert.equal(heads.length, 2);
  const [, last = ''] = heads;
  assert.notEqual(last, first);
  for (const head of [String(first), last]) {
    const { status, stdout } = await sallyport(['audit', 'verify', '--data', dataDir, '--head', head, '--json']);
    assert.equal(status, 0);
    const { entries, head: now } = JSON.parse(stdout) as Verified;
    assert.equal(now, last);
    assert.equal(entries, Number(last.split(':')[0]));
  }
});

test('entries removed or replaced at the end are found only with an earlier head', async (t) => {
  const { dataDir, json, run, failure } = await initialised(t);
  const { head } = await json<Verified>(['audit', 'verify']);
  tamper(dataDir, 'DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)');
  const { stdout } = await run(['audit', 'verify']);
  assert.match(stdout, /The chain is intact/);
  assert.match(
    await failure(['audit', 'verify', '--head', head]),
    /does not have the entry .* at its end were removed/,
  );
  // Another entry with the same number.
  await json(['event-type', 'create', '--name', 'order.placed']);
  assert.match(await failure(['audit', 'verify', '--head', head]), /does not have the entry/);
});

test('a changed entry and a malformed head are reported', async (t) => {
  const { dataDir, run, failure } = await initialised(t);
  for (const head of ['', '7', `0:${'a'.repeat(64)}`, `1:${'a'.repeat(63)}`]) {
    const { status, stderr } = await run(['audit', 'verify', '--head', head]);
    assert.equal(status, 2, head);
    assert.match(stderr, /--head must be the number of entries/);
  }
  tamper(dataDir, "UPDATE audit SET actor = 'nobody' WHERE number = 1");
  assert.match(
    await failure(['audit', 'verify']),
    /entry 1 of the audit log, or the one before it, was changed or removed/,
  );
});
