import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { serveNode, webHandler } from '../support/receiver-transports.ts';
import { API_KEY, PATH, type RawRequest, SECRET, signedRequest, withHeader } from '../support/signed-request.ts';

const MIB = 1024 * 1024;
const SENT_BYTES = 100 * MIB;
const CHUNK = Buffer.alloc(64 * 1024, ' ');
/** The bytes that sockets may buffer beyond what the receiver reads. */
const UNDER_WAY_BYTES = 16 * MIB;

const refuse = { secrets: SECRET, apiKey: API_KEY, onRecords: () => assert.fail('handed over') };

type Upload = { readonly status: number; readonly text: string; readonly sentBytes: number };

/** Writes a body until the receiver answers or stops reading. */
function upload(port: number, { headers }: RawRequest, announced: boolean): Promise<Upload> {
  return new Promise((resolve, reject) => {
    const length = announced ? { 'content-length': SENT_BYTES } : { 'transfer-encoding': 'chunked' };
    const request = httpRequest({
      port,
      host: '127.0.0.1',
      path: PATH,
      method: 'POST',
      headers: { ...Object.fromEntries(headers), ...length },
    });
    let sentBytes = 0;
    let answered = false;
    const write = (): void => {
      while (!answered && sentBytes < SENT_BYTES) {
        sentBytes += CHUNK.length;
        if (!request.write(CHUNK)) return void request.once('drain', write);
      }
    };
    request.once('error', reject);
    request.once('response', async (response: IncomingMessage) => {
      answered = true;
      const text = Buffer.concat(await response.toArray()).toString();
      request.destroy();
      resolve({ status: response.statusCode ?? 0, text, sentBytes });
    });
    write();
  });
}

describe('a body of 100 MB', () => {
  const cases: readonly [
    what: string,
    change: (request: RawRequest) => RawRequest,
    announced: boolean,
    says: RegExp,
  ][] = [
    ['from an unauthenticated sender', (request) => withHeader(request, 'x-api-key', 'x'), true, /^wrong_api_key/],
    [
      'from an unauthenticated sender, without Content-Length',
      (request) => withHeader(request, 'x-api-key', 'x'),
      false,
      /^wrong_api_key/,
    ],
    [
      'that the sender announces',
      (request) => request,
      true,
      /^too_large: the body has more than the 4194304 bytes allowed$/,
    ],
    ['without Content-Length', (request) => request, false, /^too_large/],
  ];
  for (const [what, change, announced, says] of cases) {
    it(`${what} is refused before it is complete, with bounded memory`, async (t) => {
      const port = await serveNode(t, refuse);
      const request = change(await signedRequest());
      const before = process.memoryUsage().arrayBuffers;
      let most = before;
      const watch = setInterval(() => {
        most = Math.max(most, process.memoryUsage().arrayBuffers);
      }, 1);
      t.after(() => clearInterval(watch));
      const { text, sentBytes } = await upload(port, request, announced);
      assert.match(text, says);
      assert.ok(sentBytes < UNDER_WAY_BYTES, `${sentBytes} bytes were taken`);
      assert.ok(most - before < 2 * UNDER_WAY_BYTES, `${most - before} bytes of memory`);
    });
  }

  it('is read by a fetch-style handler only up to the limit', async () => {
    let madeBytes = 0;
    const body = new ReadableStream({
      pull(controller) {
        madeBytes += CHUNK.length;
        if (madeBytes > SENT_BYTES) controller.close();
        else controller.enqueue(new Uint8Array(CHUNK));
      },
    });
    const { path, headers } = await signedRequest();
    const init = { method: 'POST', headers: Object.fromEntries(headers), body, duplex: 'half' } as const;
    const response = await webHandler(refuse)(new Request(`https://hooks.example.com${path}`, init));
    assert.equal(response.status, 413);
    assert.ok(madeBytes < 5 * MIB, `${madeBytes} bytes were read`);
  });
});

describe('a connection', () => {
  it('is reused after a refused body that was not read completely', async (t) => {
    const port = await serveNode(t, { ...refuse, maxBytes: 1000, onRecords: () => {} });
    const { Pool } = await import('undici');
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1 });
    t.after(() => pool.close());
    const send = async ({ headers, body }: RawRequest): Promise<[number, string]> => {
      const reply = await pool.request({ path: PATH, method: 'POST', headers: Object.fromEntries(headers), body });
      return [reply.statusCode, await reply.body.text()];
    };
    const large = { content: Buffer.alloc(1024 * 1024, ' ') };
    for (let round = 0; round < 5; round++) {
      const [status, text] = await send(await signedRequest(large));
      assert.deepEqual([status, text], [413, 'too_large: the body has more than the 1000 bytes allowed']);
      assert.equal((await send(withHeader(await signedRequest(large), 'x-api-key', 'x')))[0], 401);
      assert.deepEqual(await send(await signedRequest()), [204, '']);
    }
  });
});
