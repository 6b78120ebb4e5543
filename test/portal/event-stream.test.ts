/** Server-sent events of a page: as the browser reads them, and no longer than the session. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { html } from '../../src/http/html.ts';
import type { Reply } from '../../src/http/route.ts';
import {
  createRefusalPace,
  enterLive,
  eventStream,
  LIVE_PAGES_PER_CUSTOMER,
  LIVE_PAGES_PER_SESSION,
  pause,
  type StreamEvent,
} from '../../src/portal/frame/event-stream.ts';

const call = (signal: AbortSignal) => ({ signal });
/** Firefox takes a stream for connected with its first bytes. */
const BEGIN = ': connected\n\n';
const SIGNED_IN = new AbortController().signal;

async function read({ stream }: Reply, most = 100): Promise<unknown[]> {
  const pieces: unknown[] = [];
  for await (const piece of stream ?? []) {
    pieces.push(piece);
    if (pieces.length === most) break;
  }
  return pieces;
}

describe('an event stream', () => {
  it('ends with the error of a source that failed before the browser read, and leaves no rejection that ends the process', async () => {
    const away = new Error('the database is away');
    const failing = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(away) }) };
    const { stream } = eventStream(call(new AbortController().signal), SIGNED_IN, failing);
    const pieces = stream?.[Symbol.asyncIterator]();
    assert.equal((await pieces?.next())?.value, BEGIN);
    await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(async () => pieces?.next(), away);
  });

  it('sends markup line by line, with a name if there is one', async () => {
    const { signal } = new AbortController();
    const reply = eventStream(
      call(signal),
      SIGNED_IN,
      (async function* (): AsyncGenerator<StreamEvent> {
        yield { html: html`<p>one</p>${'\n'}<p>${'<two>\r\nthree'}</p>` };
        yield { event: 'changed', html: html`` };
      })(),
    );
    assert.equal(reply.headers?.['Content-Type'], 'text/event-stream;charset=UTF-8');
    assert.deepEqual(await read(reply), [
      BEGIN,
      'data: <p>one</p>\ndata: <p>&lt;two&gt;\ndata: three</p>\n\n',
      'event: changed\ndata: \n\n',
    ]);
  });

  it('says now and then that it is there, and ends with the session', async () => {
    const leaving = new AbortController();
    const session = new AbortController();
    const silent = (async function* (): AsyncGenerator<StreamEvent> {
      await pause(60_000, leaving.signal);
      yield { html: html`too late` };
    })();
    const { stream } = eventStream(call(leaving.signal), session.signal, silent, 1);
    const pieces: unknown[] = [];
    for await (const piece of stream ?? []) {
      pieces.push(piece);
      if (pieces.length === 3) session.abort();
    }
    assert.deepEqual(pieces, [BEGIN, ': still here\n\n', ': still here\n\n', 'event: signed-out\ndata:\n\n']);
    leaving.abort();
  });

  it('ends with the session while events keep coming, and sends none that came later', async () => {
    const { signal } = new AbortController();
    const session = new AbortController();
    const endless = (async function* (): AsyncGenerator<StreamEvent> {
      for (;;) yield { html: html`more` };
    })();
    const pieces: unknown[] = [];
    for await (const piece of eventStream(call(signal), session.signal, endless).stream ?? []) {
      pieces.push(piece);
      if (pieces.length === 4) session.abort();
    }
    assert.deepEqual(pieces, [BEGIN, ...Array(3).fill('data: more\n\n'), 'event: signed-out\ndata:\n\n']);
  });

  it('ends when its client is gone, also while its source waits', async () => {
    const leaving = new AbortController();
    const source = (async function* (): AsyncGenerator<StreamEvent> {
      yield { html: html`here` };
      await new Promise(() => {});
    })();
    const pieces = read(eventStream(call(leaving.signal), SIGNED_IN, source));
    setImmediate(() => leaving.abort());
    assert.deepEqual(await pieces, [BEGIN, 'data: here\n\n']);
  });

  it('fails where its source fails', async () => {
    const { signal } = new AbortController();
    const source = (async function* (): AsyncGenerator<StreamEvent> {
      yield { html: html`here` };
      throw new Error('dry');
    })();
    await assert.rejects(read(eventStream(call(signal), SIGNED_IN, source)), /dry/);
  });

  it('pauses for the given time, or until its client is gone', async () => {
    const leaving = new AbortController();
    await pause(1, leaving.signal);
    const paused = pause(60_000, leaving.signal);
    leaving.abort();
    await paused;
    await pause(60_000, leaving.signal);
  });
});

describe('the live pages that are open', () => {
  it('are bounded for each session and each customer, and leave room for others', async () => {
    const gone = new AbortController();
    const [soon, later] = [new AbortController(), gone.signal];
    const open = (customer: string | null, session: string, signal = later): Promise<void> =>
      enterLive(customer, session, signal);
    try {
      await open('one', 'first', soon.signal);
      for (let n = 1; n < LIVE_PAGES_PER_SESSION; n += 1) await open('one', 'first');
      const refused = { code: 'too_many_requests', headers: { 'Retry-After': '10' } };
      await assert.rejects(open('one', 'first'), refused);
      for (let n = LIVE_PAGES_PER_SESSION; n < LIVE_PAGES_PER_CUSTOMER; n += 1) await open('one', `session ${n}`);
      await assert.rejects(open('one', 'another'), refused);
      await open('two', 'another');
      await open(null, 'operator');
      soon.abort();
      // Of the session too: a refusal took no place of it.
      await open('one', 'first');
      await assert.rejects(open('one', 'another'), refused);
    } finally {
      gone.abort();
    }
    await enterLive('one', 'first', gone.signal);
  });

  it('are refused one after the other for each customer, each within 5 s', () => {
    const waitsMs = createRefusalPace();
    assert.deepEqual([waitsMs('one', 0), waitsMs('one', 0), waitsMs('one', 5)], [0, 20, 35]);
    assert.deepEqual([waitsMs('two', 5), waitsMs(null, 5)], [0, 0]);
    assert.equal(waitsMs('one', 1000), 0);
    const many = Array.from({ length: 300 }, () => waitsMs('one', 1000));
    assert.deepEqual([many[0], many[249], many[299]], [20, 5000, 5000]);
  });

  it('are not refused to a client that is gone', async () => {
    const gone = new AbortController();
    for (let n = 0; n < LIVE_PAGES_PER_SESSION; n += 1) await enterLive('three', 'first', gone.signal);
    const all = Array.from({ length: 1000 }, () => enterLive('three', 'first', gone.signal));
    gone.abort();
    const refused = await Promise.allSettled(all);
    assert.ok(refused.every(({ status }) => status === 'rejected'));
  });
});
