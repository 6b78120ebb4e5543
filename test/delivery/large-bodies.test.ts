/** Making large bodies beside the event loop. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type BatchBody, type BatchBodyRequest, makeBatchBody } from '../../src/delivery/body.ts';
import { createLargeBodies, LARGE_BODY_TRIES, type LargeBodies } from '../../src/delivery/large-bodies.ts';
import { threadProgram } from '../../src/kernel/assets.ts';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import { cleanUp } from '../support/cleanup.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { lacking } from '../support/programs.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeEventType, makeWebhook, openTestServices, type TestServices } from '../support/services.ts';
import { execute, temporaryFolder } from '../support/store.ts';
import { countTurns } from '../support/turns.ts';
import { pgpVector } from '../support/vectors.ts';

repeatsInSlowTier('postgres');

const TYPE = 'order.placed';

type Opened = TestServices & {
  readonly bodies: LargeBodies;
  readonly faults: string[];
  /** The errors of threads that could not lower their priority. */
  readonly refusals: string[];
  /** A request for the first records of the log. */
  request(records: number, more?: Partial<BatchBodyRequest>): BatchBodyRequest;
  /** The same body, made in the event loop. */
  madeHere(request: BatchBodyRequest): Promise<BatchBody>;
};

/** A log of ten records of 100 kB. */
async function opened(t: TestContext, program?: string | URL, answerMs?: number): Promise<Opened> {
  const faults: string[] = [];
  const refusals: string[] = [];
  const s = await openTestServices(t);
  const { store, source } = s;
  await makeEventType(s, TYPE);
  const { id } = await makeWebhook(s, [TYPE]);
  const { progress } = await s.webhooks.start(id, ACTOR);
  const events = Array.from({ length: 10 }, (_, n) => ({ type: TYPE, data: { n, text: 'ä'.repeat(50_000) } }));
  await s.publish({ events }, ACTOR);
  const bodies = createLargeBodies({
    source,
    onFault: ({ message }: Error) => void faults.push(message),
    onCannotGiveWay: ({ message }) => void refusals.push(message),
    ...(program !== undefined && { program }),
    ...(answerMs !== undefined && { answerMs }),
  });
  cleanUp(t, () => bodies.close());
  const { records } = store.dispatch;
  return {
    ...s,
    bodies,
    faults,
    refusals,
    request: (count, more = {}) => ({
      webhookNumber: progress.webhookNumber,
      firstOffset: 0,
      lastOffset: count - 1,
      parsed: false,
      subscriptionId: id,
      sessionId: 'session',
      attemptNumber: 1,
      gzip: false,
      encryption: null,
      now: s.clock(),
      owner: null,
      ...more,
    }),
    madeHere: (request) => makeBatchBody(request, records),
  };
}

describe('a large body', () => {
  it('equals the body that the event loop makes of the same records, also when many are made at the same time', async (t) => {
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

  it('is a failed attempt if the key cannot be used, with the reason', async (t) => {
    const s = await opened(t);
    const encryption = { keyName: 'key', publicKey: pgpVector('expired') };
    const made = await s.bodies.make(s.request(10, { encryption }));
    assert.ok(typeof made !== 'string' && 'ok' in made && !made.ok);
    assert.equal(made.errorClass, 'encryption');
    assert.match(made.message, /^expired_key: the key expired on 2020-01-02/);
    assert.deepEqual(s.faults, []);
  });

  it('does not block the event loop', async (t) => {
    const s = await opened(t);
    await s.bodies.make(s.request(1));
    const turn = countTurns(t);
    const before = turn();
    await Promise.all(Array.from({ length: 10 }, () => s.bodies.make(s.request(10, { gzip: true }))));
    assert.ok(turn() - before > 20, `${turn() - before} turns`);
    assert.deepEqual(s.refusals, []);
    if (process.platform === 'linux' && process.versions.deno === undefined) {
      // The thread's own memory, without the memory shared by all threads.
      const nice = readdirSync('/proc/self/task').map((thread) => niceOf(`/proc/self/task/${thread}/stat`));
      const own = niceOf('/proc/self/stat');
      assert.equal(nice.filter((value) => value > own).length, 1);
    }
  });

  it('has the records that exist when it is made', async (t) => {
    const s = await opened(t);
    await s.bodies.make(s.request(1));
    await execute(
      s,
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

  it('is not made in clear if one of its events must be encrypted', async (t) => {
    const s = await opened(t);
    await s.bodies.make(s.request(1));
    await execute(s, `UPDATE event_type SET encryption_required = true WHERE name = '${TYPE}'`);
    assert.equal(await s.bodies.make(s.request(2)), 'clear');
  });
});

describe('the thread that makes large bodies', () => {
  const ENDED = 'the thread that makes large bodies has ended';
  const ENDS = "require('node:worker_threads').parentPort.on('message', () => process.exit(1));";

  it('may end: the next thread makes the bodies that it had in hand', async (t) => {
    // The first thread leaves a file behind and ends; every other one answers.
    const mark = JSON.stringify(join(temporaryFolder(t), 'ended'));
    const s = await opened(
      t,
      `const { parentPort } = require('node:worker_threads');
       const { existsSync, writeFileSync } = require('node:fs');
       parentPort.on('message', ({ number }) => {
         if (existsSync(${mark})) return parentPort.postMessage({ number, body: 'erased' });
         writeFileSync(${mark}, '');
         process.exit(1);
       });`,
    );
    const made = await Promise.all([1, 2, 3].map(() => s.bodies.make(s.request(2))));
    assert.deepEqual(made, ['erased', 'erased', 'erased']);
    assert.deepEqual(s.faults, [ENDED]);
  });

  it('may end with every body: after a few tries the body is refused, and the next body gets a new thread', async (t) => {
    const s = await opened(t, ENDS);
    for (const round of [1, 2]) {
      await assert.rejects(s.bodies.make(s.request(2)), new Error(ENDED));
      assert.deepEqual(s.faults, Array(round * LARGE_BODY_TRIES).fill(ENDED));
    }
  });

  it('may not even start: the body is refused', async (t) => {
    const s = await opened(t, new URL('https://programs.example.com/'));
    for (const round of [1, 2]) {
      await assert.rejects(s.bodies.make(s.request(2)));
      assert.equal(s.faults.length, round);
    }
  });

  it('may fail as it starts: the body is refused with its error', async (t) => {
    const s = await opened(t, "throw new Error('out of order')");
    await assert.rejects(s.bodies.make(s.request(2)), /out of order/);
    assert.deepEqual(s.faults, Array(LARGE_BODY_TRIES).fill('out of order'));
  });

  it('may fail with one body: that one is refused, and the thread makes the next', async (t) => {
    const s = await opened(
      t,
      `const { parentPort } = require('node:worker_threads');
       let asked = 0;
       parentPort.on('message', ({ number }) => parentPort.postMessage(++asked === 1 ? { number, error: new Error('unreadable') } : \
{ number, body: 'erased' }));`,
    );
    await assert.rejects(s.bodies.make(s.request(2)), /unreadable/);
    assert.equal(await s.bodies.make(s.request(2)), 'erased');
    assert.deepEqual(s.faults, []);
  });

  it('reports once that the system refuses it a lower priority, and makes bodies all the same', async (t) => {
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

  it('goes on if a filter of system calls refuses it a lower priority, and reports it', {
    skip: lacking('strace'),
  }, async (t) => {
    if (process.platform !== 'linux' || process.versions.deno !== undefined) return;
    const { source } = await opened(t);
    const program = `
      const thread = new (require('node:worker_threads').Worker)(new URL(${JSON.stringify(threadProgram('largeBodies'))}), {
        workerData: { source: ${JSON.stringify(source)} },
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
    it(`is ended if it ${what}: after a few tries the bodies are refused`, async (t) => {
      const s = await opened(t, `require('node:worker_threads').parentPort.on('message', ${onMessage});`, 50);
      const silent = 'the thread that makes large bodies has not answered for 50 ms';
      await Promise.all([1, 2, 3].map(() => assert.rejects(s.bodies.make(s.request(2)), new Error(silent))));
      assert.deepEqual(s.faults, Array(LARGE_BODY_TRIES).fill(silent));
    });
  }

  it('is not ended while it answers now and then, however long the last of many waits', async (t) => {
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
    assert.equal(s.faults.length, 0, 'nothing is overdue if nothing was asked');
  });

  it('ends when it is closed: bodies in hand are refused, and so are later ones', async (t) => {
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
