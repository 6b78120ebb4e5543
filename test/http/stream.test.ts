/** Streams over a real socket, until the source, the client or the server ends them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import type { Gate } from '../../src/access/gate.ts';
import type { Call, Route } from '../../src/http/route.ts';
import { createListener, createRequestHandler } from '../../src/http/server.ts';
import { createLog } from '../../src/observe/log.ts';
import { pause } from '../../src/portal/frame/event-stream.ts';
import { deferred } from '../support/deferred.ts';
import { createLogReader, type LogReader } from '../support/log-reader.ts';

type Streaming = {
  readonly url: string;
  readonly log: LogReader;
  /** As in the service: streams end, then the listener closes. */
  stop(): Promise<void>;
};

async function startStreaming(t: TestContext, source: (call: Call) => AsyncIterable<string>): Promise<Streaming> {
  const route: Route = {
    for: 'anyone',
    method: 'GET',
    path: '/stream',
    access: 'open',
    tag: 'test',
    summary: 'Streams',
    replies: {},
    respond: async (call) => ({ status: 200, headers: { 'Content-Type': 'text/plain' }, stream: source(call) }),
  };
  const reader = createLogReader();
  const log = createLog('info', { write: reader.take });
  const stopping = new AbortController();
  const handler = createRequestHandler({
    routes: [route],
    gate: {} as Gate,
    clock: Date.now,
    log,
    remoteAddress: () => '127.0.0.1',
    stopping: stopping.signal,
  });
  const listener = createListener({ handler, tls: null, clock: Date.now, log });
  const port = await listener.listen('127.0.0.1', 0);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await listener.close();
  };
  t.after(stop);
  return { url: `http://127.0.0.1:${port}/stream`, log: reader, stop };
}

async function open(url: string, method = 'GET'): Promise<IncomingMessage> {
  const sent = httpRequest(url, { method });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response.setEncoding('utf8');
}

async function rest(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response) text += chunk as string;
  return text;
}

describe('a stream', () => {
  it('is sent piece by piece, without delay', async (t) => {
    const go = deferred<void>();
    const { url } = await startStreaming(t, async function* () {
      yield 'one ';
      await go.promise;
      yield 'two';
    });
    const response = await open(url);
    assert.equal(response.headers['content-length'], undefined);
    assert.equal(response.headers['cache-control'], 'no-store');
    const [first] = (await once(response, 'data')) as [string];
    assert.equal(first, 'one ');
    go.resolve();
    assert.equal(await rest(response), 'two');
  });

  it('ends when its client disconnects, and so does the source', async (t) => {
    const ended = deferred<string>();
    const { url } = await startStreaming(t, async function* ({ signal }) {
      try {
        yield 'here';
        await pause(60_000, signal);
        yield 'not any more';
      } finally {
        ended.resolve(signal.aborted ? 'the client left' : 'by itself');
      }
    });
    const response = await open(url);
    await once(response, 'data');
    response.destroy();
    assert.equal(await ended.promise, 'the client left');
  });

  it('ends with the server, which does not wait for its readers', async (t) => {
    const { url, stop } = await startStreaming(t, async function* ({ signal }) {
      yield 'here';
      await pause(60_000, signal);
    });
    const response = await open(url);
    await once(response, 'data');
    const [text] = await Promise.all([rest(response), stop()]);
    assert.equal(text, '');
  });

  it('waits for a client that does not read, with at most one buffer', async (t) => {
    const pieces = 10_000;
    let sent = 0;
    const { url } = await startStreaming(t, async function* () {
      for (; sent < pieces; sent += 1) yield 'x'.repeat(16_384);
    });
    const response = await open(url);
    response.pause();
    // Without backpressure, everything would be sent in one turn.
    for (let before = -1; before !== sent; ) {
      before = sent;
      for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(sent > 0 && sent < pieces, String(sent));
    response.destroy();
  });

  it('that fails closes the connection and logs the reason', async (t) => {
    const { url, log } = await startStreaming(t, async function* () {
      yield 'here';
      throw new Error('the source ran dry');
    });
    const response = await open(url);
    await assert.rejects(rest(response));
    assert.match(log.text(), /the source ran dry.*a stream failed/);
  });

  it('is not started for HEAD', async (t) => {
    let begun = false;
    const { url } = await startStreaming(t, async function* () {
      begun = true;
      yield 'here';
    });
    assert.equal(await rest(await open(url, 'HEAD')), '');
    assert.equal(begun, false);
  });
});
