/** Checks in a trace of system calls that nothing is acknowledged before it is on the disk. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashCredential } from '../../src/domain/credential.ts';
import { LISTS_HANDED_EARLY } from '../../src/store/sqlite/driver/sqlite.ts';
import { EDGE, EMPLOYEES, succeeded, tokenFor } from '../support/client.ts';
import { makeEventType, registerApplication } from '../support/journey.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { hexOf, readTrace, type SystemCall } from '../support/strace.ts';
import { traceService } from '../support/traced-service.ts';

repeatsInSlowTier('postgres', 'pgbouncer');

/** An acknowledgement: bytes of the reply, and bytes of the row that it acknowledges. */
type Promised = { readonly reply: string; readonly row: string | Uint8Array };

/** More requests than the writer thread gets before a turn ends, and as many as the benchmarks run at a time. */
const AT_ONCE = 2 * LISTS_HANDED_EARLY;

describe('an acknowledged request', () => {
  it('is in the write-ahead log, committed and synced, before the reply is written to the socket', async (t) => {
    const service = await traceService(t);
    const { admin, credentials, url } = service;
    const promised: Promised[] = [];
    const askToken = async (): Promise<void> => {
      const token = await tokenFor(url, credentials, 'events:publish');
      promised.push({ reply: token, row: hashCredential(token) });
    };
    await askToken();
    await Promise.all(Array.from({ length: AT_ONCE }, askToken));

    await makeEventType(admin, 'order.placed');
    const publish = async (mark: string, count: number): Promise<void> => {
      const events = Array.from({ length: count }, (_, n) => ({
        type: 'order.placed',
        data: { mark: `${mark} ${n}` },
      }));
      const body = await succeeded<{ events: { id: string }[] }>(admin.post(`${EDGE}/events`, { events }));
      for (const { id } of body.events) promised.push({ reply: id, row: id });
    };
    await publish('single', 1);
    await publish('many', 20);
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => publish(`at once ${n}`, 1)));

    const { api } = await registerApplication(admin, ['employees:create', 'employees:view']);
    const hire = async (n: number): Promise<void> => {
      const body = { userName: `hired ${n}`, firstName: 'A', lastName: 'B', email: 'a@b.example', division: 'x' };
      const { userId } = await succeeded<{ userId: string }>(api.post(EMPLOYEES, body));
      promised.push({ reply: userId, row: userId });
    };
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => hire(n)));

    const calls = await service.calls();
    assert.equal(promised.length, 1 + AT_ONCE + 1 + 20 + AT_ONCE + AT_ONCE);
    for (const one of promised) assert.equal(brokenPromise(calls, one), null);
    const syncs = calls.filter(isSyncOfLog).length;
    assert.ok(syncs < promised.length, `${syncs} syncs: what is asked for at once shares one`);
  });
});

describe('the check of a trace', () => {
  const line = (text: string): string => `7 ${text}`;
  const hex = (text: string): string =>
    text.replaceAll(/./gs, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
  const log = hex('/data/sallyport.db-wal');
  const socket = 'TCP:[127.0.0.1:1->127.0.0.1:2]';
  const header = line(`pwrite64(9<${log}>, "${hex('\0\0\0\x02\0\0\0\x05'.padEnd(24, 'h'))}", 24, 32) = 24`);
  const unfinishedHeader = line(`pwrite64(9<${log}>, "${hex('\0\0\0\x02\0\0\0\0'.padEnd(24, 'h'))}", 24, 32) = 24`);
  const page = line(`pwrite64(9<${log}>, "${hex('..row..')}", 4096, 56) = 4096`);
  const sync = line(`fdatasync(9<${log}>) = 0`);
  const reply = line(`write(12<${socket}>, "${hex('HTTP/1.1 200 OK reply')}", 21) = 21`);
  const begunSync = `7 fdatasync(9<${log}> <unfinished ...>`;
  const endedSync = '7 <... fdatasync resumed>) = 0';
  const otherReply = reply.replace(/^7/, '8');
  const promised = { reply: 'reply', row: 'row' };

  const table: readonly [what: string, lines: readonly string[], broken: RegExp | null][] = [
    ['row, commit, sync, reply', [header, page, sync, reply], null],
    ['a sync that is over before the reply', [header, page, begunSync, endedSync, reply], null],
    ['no sync', [header, page, reply], /no sync/],
    ['the reply before the sync', [header, page, reply, sync], /no sync/],
    ['the reply while the sync is under way', [header, page, begunSync, otherReply, endedSync], /no sync/],
    ['the sync before the row', [sync, header, page, reply], /no sync/],
    ['a sync before the commit', [unfinishedHeader, page, sync, reply], /no commit/],
    ['no row', [header, sync, reply], /not in the log/],
    ['no reply', [header, page, sync], /not answered/],
  ];
  for (const [what, lines, broken] of table) {
    it(`finds of ${what}: ${broken === null ? 'kept' : 'broken'}`, () => {
      const found = brokenPromise(readTrace(lines.join('\n')), promised);
      if (broken === null) assert.equal(found, null);
      else assert.match(found ?? '', broken);
    });
  }
});

/** The problem with the order of an acknowledgement, or null. */
function brokenPromise(calls: readonly SystemCall[], { reply, row }: Promised): string | null {
  const answered = calls.find(({ target, hex }) => target.startsWith('TCP') && hex.includes(hexOf(reply)));
  if (answered === undefined) return `${reply} was not answered`;
  const kept = calls.find((call) => isWriteToLog(call) && call.hex.includes(hexOf(row)));
  if (kept === undefined) return `what ${reply} promises is not in the log`;
  const synced = calls.find(
    (call) => isSyncOfLog(call) && call.beganAt > kept.endedAt && call.endedAt < answered.beganAt,
  );
  if (synced === undefined) return `no sync lies between the row of ${reply} and its reply`;
  const header = calls.findLast((call) => isFrameHeader(call) && call.endedAt < synced.beganAt);
  return header !== undefined && isCommit(header) ? null : `no commit lies before the sync that ${reply} relies on`;
}

function isWriteToLog({ name, target }: SystemCall): boolean {
  return name.startsWith('pwrite') && target.endsWith('-wal');
}

function isSyncOfLog({ name, target }: SystemCall): boolean {
  return (name === 'fsync' || name === 'fdatasync') && target.endsWith('-wal');
}

const FRAME_HEADER_BYTES = 24;

function isFrameHeader(call: SystemCall): boolean {
  return isWriteToLog(call) && call.hex.length === FRAME_HEADER_BYTES * 2;
}

/** The second word of a frame's header is the size of the database in the last frame of a transaction, and 0 in others. */
function isCommit({ hex }: SystemCall): boolean {
  return hex.slice(8, 16) !== '00000000';
}
