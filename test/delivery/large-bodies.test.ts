/** Making large bodies beside the event loop. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { type BatchBody, type BatchBodyRequest, encryptionLookup, makeBatchBody } from '../../src/delivery/body.ts';
import { createLargeBodies, type LargeBodies } from '../../src/delivery/large-bodies.ts';
import { threadProgram } from '../../src/kernel/assets.ts';
import { THREAD_RESTART_MS } from '../../src/kernel/limits/database.ts';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import { cleanUp } from '../support/cleanup.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { ACTOR, makeEventType, makeWebhook, openTestServices, type TestServices } from '../support/services.ts';
import { countTurns } from '../support/turns.ts';
import { pgpVector } from '../support/vectors.ts';

const TYPE = 'order.placed';

type Opened = TestServices & {
  readonly bodies: LargeBodies;
  readonly faults: string[];
  /** Why a thread could not give way, each time that it was told. */
  readonly refusals: string[];
  /** For records of the log's beginning. */
  request(records: number, more?: Partial<BatchBodyRequest>): BatchBodyRequest;
  /** What is made in the event loop of the same. */
  madeHere(request: BatchBodyRequest): Promise<BatchBody>;
};

/** A log of ten records of 100 kB. */
async function opened(t: TestContext, program?: string | URL, answerMs?: number): Promise<Opened> {
  const faults: string[] = [];
  const refusals: string[] = [];
  const s = await openTestServices(t);
  const { store, path } = s;
  await makeEventType(s, TYPE);
  const { id } = await makeWebhook(s, [TYPE]);
  const { progress } = await s.webhooks.start(id, ACTOR);
  const events = Array.from({ length: 10 }, (_, n) => ({ type: TYPE, data: { n, text: 'ä'.repeat(50_000) } }));
  await s.publish({ events }, ACTOR);
  const bodies = createLargeBodies({
    ...{ store, path, onFault: ({ message }: Error) => void faults.push(message) },
    onCannotGiveWay: ({ message }) => void refusals.push(message),
    ...(program !== undefined && { program }),
    ...(answerMs !== undefined && { answerMs }),
  });
  cleanUp(t, () => bodies.close());
  const { records } = store.dispatch;
  return {
    ...s,
    ...{ bodies, faults, refusals },
    request: (count, more = {}) => ({
      ...{ webhookNumber: progress.webhookNumber, firstOffset: 0, lastOffset: count - 1, parsed: false },
      ...{ subscriptionId: id, sessionId: 'session', attemptNumber: 1, gzip: false, encryption: null, now: s.clock() },
      ...more,
    }),
    madeHere: (request) => makeBatchBody(request, { records, mustBeEncrypted: encryptionLookup(store.eventTypes) }),
  };
}

describe('a large body', () => {
  it('is what the event loop makes of the same records, many at once', async (t) => {
    const s = await opened(t);
    const requests = [1, 10, 3, 7].flatMap((count) => [s.request(count), s.request(count, { gzip: true })]);
    const made = await Promise.all(requests.map((request) => s.bodies.make(request)));
    for (const [at, request] of requests.entries()) assert.deepEqual(plain(made[at]), plain(await s.madeHere(request)));
    assert.deepEqual(s.faults, []);
  });

  it('can be read by its receiver when it is encrypted', async (t) => {
    const s = await opened(t);
    const { publicKey, privateKey } = await pgpKeyPair({ at: s.clock() - 1000 });
    const made = await s.bodies.make(s.request(10, { encryption: { keyName: 'key', publicKey } }));
    assert.ok(isMade(made));
    const decrypted = await decryptBinary(made.bytes, privateKey);
    assert.ok(decrypted.ok);
    const inClear = await s.madeHere(s.request(10));
    assert.ok(isMade(inClear));
    assert.deepEqual(Buffer.from(decrypted.bytes), Buffer.from(inClear.bytes));
    assert.equal(made.headers['x-pgp-key-name'], 'key');
  });

  it('is a failed attempt for a key that cannot be used, which says what is wrong', async (t) => {
    const s = await opened(t);
    const encryption = { keyName: 'key', publicKey: pgpVector('expired') };
    const made = await s.bodies.make(s.request(10, { encryption }));
    assert.ok(typeof made !== 'string' && 'ok' in made && !made.ok);
    assert.equal(made.errorClass, 'encryption');
    assert.match(made.message, /^expired_key: the key expired on 2020-01-02/);
    assert.deepEqual(s.faults, []);
  });

  it('leaves the event loop to others meanwhile', async (t) => {
    const s = await opened(t);
    await s.bodies.make(s.request(1));
    const turn = countTurns(t);
    const before = turn();
    await Promise.all(Array.from({ length: 10 }, () => s.bodies.make(s.request(10, { gzip: true }))));
    assert.ok(turn() - before > 20, `${turn() - before} turns`);
    assert.deepEqual(s.refusals, []);
    if (process.platform === 'linux' && process.versions.deno === undefined) {
      // The thread alone, not those that it shares with everybody.
      const nice = readdirSync('/proc/self/task').map((thread) => niceOf(`/proc/self/task/${thread}/stat`));
      assert.deepEqual([niceOf('/proc/self/stat'), nice.filter((value) => value > 0).length], [0, 1]);
    }
  });

  it('is of the records that are there when it is made', async (t) => {
    const s = await opened(t);
    await s.bodies.make(s.request(1));
    s.database.connection.exec(
      'UPDATE event SET data = NULL, erased_at = 1 WHERE key IN (SELECT event_key FROM outbox WHERE record_offset IN (0, 2))',
    );
    const made = await s.bodies.make(s.request(4));
    assert.ok(isMade(made));
    const { records } = JSON.parse(Buffer.from(made.bytes).toString()) as { records: { offset: number }[] };
    assert.deepEqual(
      records.map(({ offset }) => offset),
      [1, 3],
    );
    assert.equal(await s.bodies.make(s.request(1)), 'erased');
  });

  it('does not go out in clear where one of its events may not', async (t) => {
    const s = await opened(t);
    await s.bodies.make(s.request(1));
    s.database.connection.exec(`UPDATE event_type SET encryption_required = 1 WHERE name = '${TYPE}'`);
    assert.equal(await s.bodies.make(s.request(2)), 'clear');
  });
});

describe('the thread that makes large bodies', () => {
  const ENDS = "require('node:worker_threads').parentPort.on('message', () => process.exit(1));";

  it('may end: what it had in hand is made in the event loop, and what comes then too', async (t) => {
    const s = await opened(t, ENDS);
    const expected = plain(await s.madeHere(s.request(2)));
    const made = await Promise.all([1, 2, 3].map(() => s.bodies.make(s.request(2))));
    assert.deepEqual(made.map(plain), [expected, expected, expected]);
    assert.deepEqual(plain(await s.bodies.make(s.request(2))), expected);
    assert.deepEqual(s.faults, ['the thread that makes large bodies has ended']);
  });

  it('may end while bodies are encrypted: they are encrypted in the event loop', async (t) => {
    const s = await opened(t, ENDS);
    const { publicKey, privateKey } = await pgpKeyPair({ at: s.clock() - 1000 });
    const request = s.request(2, { encryption: { keyName: 'key', publicKey } });
    for (const made of await Promise.all([1, 2, 3].map(() => s.bodies.make(request)))) {
      assert.ok(isMade(made));
      assert.ok((await decryptBinary(made.bytes, privateKey)).ok);
    }
  });

  it('is begun again a while later', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const s = await opened(t, ENDS);
    for (const round of [1, 2]) {
      await s.bodies.make(s.request(2));
      await s.bodies.make(s.request(2));
      assert.equal(s.faults.length, round);
      t.mock.timers.tick(THREAD_RESTART_MS);
    }
  });

  it('may not even begin: then bodies are made in the event loop', async (t) => {
    const s = await opened(t, new URL('https://programs.example.com/'));
    const expected = plain(await s.madeHere(s.request(2)));
    for (let at = 0; at < 2; at += 1) assert.deepEqual(plain(await s.bodies.make(s.request(2))), expected);
    assert.equal(s.faults.length, 1);
  });

  it('may fail: its error is told, and the body is made in the event loop', async (t) => {
    const s = await opened(t, "throw new Error('out of order')");
    assert.deepEqual(plain(await s.bodies.make(s.request(2))), plain(await s.madeHere(s.request(2))));
    assert.deepEqual(s.faults, ['out of order']);
  });

  it('may fail with one body: that one is made in the event loop, and the next by the thread', async (t) => {
    const s = await opened(
      t,
      `const { parentPort } = require('node:worker_threads');
       let asked = 0;
       parentPort.on('message', ({ number }) => parentPort.postMessage(++asked === 1 ? { number, error: new Error('unreadable') } : { number, body: 'erased' }));`,
    );
    assert.deepEqual(plain(await s.bodies.make(s.request(2))), plain(await s.madeHere(s.request(2))));
    assert.equal(await s.bodies.make(s.request(2)), 'erased');
    assert.deepEqual(s.faults, ['unreadable']);
  });

  it('tells once that the system does not let it give way, and makes bodies all the same', async (t) => {
    const s = await opened(
      t,
      `const { parentPort } = require('node:worker_threads');
       for (const at of [1, 2]) parentPort.postMessage({ cannotGiveWay: new Error('not permitted') });
       parentPort.on('message', ({ number }) => parentPort.postMessage({ number, body: 'erased' }));`,
    );
    assert.equal(await s.bodies.make(s.request(2)), 'erased');
    assert.deepEqual(s.refusals, ['not permitted']);
    assert.deepEqual(s.faults, []);
  });

  it('goes on where a filter of system calls refuses it another priority, and says so', async (t) => {
    if (process.platform !== 'linux' || process.versions.deno !== undefined) return;
    const { path } = await opened(t);
    const program = `
      const thread = new (require('node:worker_threads').Worker)(new URL(${JSON.stringify(threadProgram('largeBodies'))}), {
        workerData: { path: ${JSON.stringify(path)} },
      });
      thread.on('message', ({ cannotGiveWay }) => {
        process.stdout.write(cannotGiveWay.message);
        thread.terminate();
      });`;
    // What systemd's SystemCallErrorNumber=EPERM does, and nothing besides.
    const how = ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=setpriority', '-e', 'inject=setpriority:error=EPERM'];
    const told = execFileSync('strace', [
      ...how,
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      '-e',
      program,
    ]);
    assert.match(told.toString(), /uv_os_setpriority returned EPERM/);
  });

  const SILENT = {
    'takes what it is asked and says nothing': '() => {}',
    'stands still': '() => { for (;;); }',
  };
  for (const [what, onMessage] of Object.entries(SILENT)) {
    it(`is ended where it ${what}: what it had in hand is made in the event loop, and what comes then too`, async (t) => {
      const s = await opened(t, `require('node:worker_threads').parentPort.on('message', ${onMessage});`, 50);
      const expected = plain(await s.madeHere(s.request(2)));
      const made = await Promise.all([1, 2, 3].map(() => s.bodies.make(s.request(2))));
      assert.deepEqual(made.map(plain), [expected, expected, expected]);
      assert.deepEqual(s.faults, ['the thread that makes large bodies has not answered for 50 ms']);
      assert.deepEqual(plain(await s.bodies.make(s.request(2))), expected);
      assert.equal(s.faults.length, 1);
    });
  }

  it('that answers now and then is let be, however long the last of many waits', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const s = await opened(
      t,
      `const { parentPort } = require('node:worker_threads');
       const asked = [];
       parentPort.on('message', ({ number }) => {
         asked.push(number);
         if (asked.length === 3) parentPort.postMessage({ number: asked[0], body: 'erased' });
         if (asked.length === 4) for (const number of asked.slice(1)) parentPort.postMessage({ number, body: 'erased' });
       });`,
      1000,
    );
    const [first, ...others] = [1, 2, 3].map(() => s.bodies.make(s.request(2)));
    t.mock.timers.tick(999);
    assert.equal(await first, 'erased');
    t.mock.timers.tick(999);
    others.push(s.bodies.make(s.request(2)));
    assert.deepEqual(await Promise.all(others), ['erased', 'erased', 'erased']);
    t.mock.timers.tick(1000);
    assert.equal(s.faults.length, 0, 'nothing is overdue where nothing was asked');
  });

  it('ends with what it has in hand when it is closed, and nothing is made afterwards', async (t) => {
    const s = await opened(t, "require('node:worker_threads').parentPort.on('message', () => {});");
    const refused = assert.rejects(s.bodies.make(s.request(2)), /^Error: the service is stopping$/);
    await s.bodies.close();
    await refused;
    await assert.rejects(s.bodies.make(s.request(2)), /^Error: the service is stopping$/);
    assert.deepEqual(s.faults, []);
  });
});

/** A thread's priority: higher gives way to lower (proc(5), field 19 of `stat`). */
function niceOf(path: string): number {
  const text = readFileSync(path, 'utf8');
  // The name before it may have spaces.
  return Number(text.slice(text.lastIndexOf(')')).split(' ')[17]);
}

function isMade(body: BatchBody): body is Extract<BatchBody, { readonly ok: true }> {
  return typeof body !== 'string' && 'ok' in body && body.ok;
}

/** A body with its bytes as text, so that Buffer and Uint8Array compare. */
function plain(body: BatchBody | undefined): unknown {
  return body !== undefined && isMade(body) ? { ...body, bytes: Buffer.from(body.bytes).toString('base64') } : body;
}
