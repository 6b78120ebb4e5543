import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import {
  basic,
  connectRaw,
  makeClient,
  type OAuthService,
  type RawConnection,
  rawRequest,
  startOAuthService,
  type TestClient,
  TOKEN,
} from '../../support/oauth-service.ts';

type Service = OAuthService & { readonly client: TestClient; readonly good: string };

const FORM = 'Content-Type: application/x-www-form-urlencoded';
const GRANT = 'grant_type=client_credentials';

async function start(t: TestContext, options: { bodyTimeoutMs?: number } = {}): Promise<Service> {
  const service = await startOAuthService(t, options);
  const client = await makeClient(service);
  const authorization = `Authorization: ${basic(client.clientId, client.clientSecret).Authorization}`;
  return { ...service, client, good: rawRequest(TOKEN, [FORM, authorization], GRANT) };
}

/** The status codes of the replies, in order. */
function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

const ONE_ANSWER = /\r\n\r\n\{.*\}$/s;
const TWO_ANSWERS = /\r\n\r\n\{.*\}HTTP.*\r\n\r\n\{.*\}$/s;

async function issuedTokens({ rows }: OAuthService): Promise<number> {
  return (await rows('SELECT * FROM access_token')).length;
}

/** Checks that the connection still works. */
async function assertReusable(service: Service, connection: RawConnection, first: number): Promise<void> {
  await connection.received(ONE_ANSWER);
  connection.write(service.good);
  assert.deepEqual(statuses(await connection.received(TWO_ANSWERS)), [first, 200]);
}

describe('on a raw connection', () => {
  it('requests that are refused for their content leave the connection usable', async (t) => {
    const service = await start(t);
    const authorization = /Authorization: [^\r]*/.exec(service.good)?.[0] ?? '';
    for (const [headers, body, status] of [
      [[FORM, authorization, authorization], GRANT, 400],
      [[FORM, authorization, 'authorization: Bearer x'], GRANT, 400],
      [[FORM, authorization], `${GRANT}&${GRANT}`, 400],
      [[FORM, authorization], `${GRANT}&x=%ff`, 400],
      [[FORM, `Authorization: Bearer ${'x'.repeat(4 * 1024)}`], GRANT, 401],
    ] as const) {
      const connection = await connectRaw(service);
      connection.write(rawRequest(TOKEN, headers, body));
      await assertReusable(service, connection, status);
    }
  });

  it('bodies that are refused unread end the connection, unless they have already arrived', async (t) => {
    const service = await start(t);
    for (const headers of [[], [FORM, 'Content-Type: application/json'], [`${FORM}; charset=utf-16`]]) {
      const whole = await connectRaw(service);
      whole.write(rawRequest(TOKEN, headers, GRANT));
      await assertReusable(service, whole, 415);
      const connection = await connectRaw(service);
      connection.write(rawRequest(TOKEN, [...headers, 'Content-Length: 1000'], GRANT));
      const text = await connection.closed();
      assert.deepEqual(statuses(text), [415]);
      assert.match(text, /Connection: close/);
    }
  });

  it('bytes that are not UTF-8 are refused', async (t) => {
    const service = await start(t);
    const connection = await connectRaw(service);
    connection.write(rawRequest(TOKEN, [FORM, 'Content-Length: 33']));
    connection.write(Buffer.concat([Buffer.from(`${GRANT}&`), Buffer.from([0xff, 0xfe, 0x3d])]));
    await assertReusable(service, connection, 400);
  });

  it('two requests sent at the same time get their replies in order', async (t) => {
    const service = await start(t);
    const connection = await connectRaw(service);
    connection.write(rawRequest(TOKEN, [FORM], 'grant_type=x') + service.good);
    assert.deepEqual(statuses(await connection.received(TWO_ANSWERS)), [400, 200]);
  });

  it('a body with a declared length above the limit is refused unread, and the connection ends', async (t) => {
    const service = await start(t);
    const connection = await connectRaw(service);
    connection.write(rawRequest(TOKEN, [FORM, 'Content-Length: 1000000'], GRANT));
    const text = await connection.closed();
    assert.deepEqual(statuses(text), [413]);
    assert.match(text, /Connection: close/);
  });

  it('a chunked body is refused when it exceeds the limit, and the connection ends', async (t) => {
    const service = await start(t);
    const connection = await connectRaw(service);
    connection.write(rawRequest(TOKEN, [FORM, 'Transfer-Encoding: chunked'], `4001\r\n${'x'.repeat(0x4001)}\r\n`));
    const text = await connection.closed();
    assert.deepEqual(statuses(text), [413]);
    assert.match(text, /"error":"invalid_request"/);
  });

  it('a body that never ends is refused after the time limit, and the connection ends', async (t) => {
    const service = await start(t, { bodyTimeoutMs: 20 });
    for (const framing of ['Transfer-Encoding: chunked', 'Content-Length: 1000']) {
      const connection = await connectRaw(service);
      connection.write(rawRequest(TOKEN, [FORM, framing], `5\r\nscope\r\n`));
      const text = await connection.closed();
      assert.deepEqual(statuses(text), [408]);
      assert.match(text, /Connection: close/);
      assert.match(text, /"error":"invalid_request"/);
    }
  });

  it('a body that ends before its length gets no token, and the connection ends', async (t) => {
    const service = await start(t);
    const { clientId, clientSecret } = service.client;
    const connection = await connectRaw(service);
    const body = `${GRANT}&client_id=${clientId}&client_secret=${clientSecret}`;
    connection.write(rawRequest(TOKEN, [FORM, `Content-Length: ${body.length + 1}`], body));
    connection.end();
    assert.deepEqual(statuses(await connection.closed()), [400]);
    assert.equal(await issuedTokens(service), 0);
  });

  it('a client that disconnects in the middle of its body is not an error of the service', async (t) => {
    const service = await start(t);
    const connection = await connectRaw(service);
    connection.write(rawRequest(TOKEN, [FORM, 'Content-Length: 1000'], GRANT));
    for (const socket of service.sockets) socket.destroy();
    await connection.closed();
    const other = await connectRaw(service);
    other.write(service.good);
    assert.deepEqual(statuses(await other.received(ONE_ANSWER)), [200]);
    assert.ok(!service.logged.some((line) => line.includes('request failed')));
  });

  it('bytes after the declared length of a body are never parsed as a request', async (t) => {
    const service = await start(t);
    const connection = await connectRaw(service);
    connection.write(rawRequest(TOKEN, [FORM, 'Content-Length: 12'], `grant_type=x&more=${'y'.repeat(100)}`));
    const text = await connection.closed();
    // In order: the reply to the request itself, then the reply to the bytes after it.
    assert.deepEqual(statuses(text), [400, 400]);
    assert.match(text, /unsupported_grant_type.*(?:does not begin with a known method|is not valid HTTP)/s);
    assert.equal(await issuedTokens(service), 0);
  });

  it('a second Host is refused (RFC 9112 §3.2)', async (t) => {
    const service = await start(t);
    const connection = await connectRaw(service);
    connection.write(rawRequest(TOKEN, [FORM, 'Host: other.example', `Content-Length: ${GRANT.length}`], GRANT));
    const text = await connection.received(ONE_ANSWER);
    assert.deepEqual(statuses(text), [400]);
    assert.match(text, /the Host header was sent more than once/);
    assert.equal(await issuedTokens(service), 0);
  });

  for (const [what, headers] of [
    ['a length beside a transfer coding', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['a transfer coding beside a length', ['Transfer-Encoding: chunked', 'Content-Length: 5']],
    ['two lengths', ['Content-Length: 5', 'Content-Length: 6']],
    ['the same length twice', ['Content-Length: 5', 'Content-Length: 5']],
    ['a list of lengths', ['Content-Length: 5, 5']],
    ['a signed length', ['Content-Length: +5']],
    ['a negative length', ['Content-Length: -1']],
    ['a length in hex', ['Content-Length: 0x5']],
    ['a transfer coding that nobody knows', ['Transfer-Encoding: xchunked']],
    ['chunked not as the last coding', ['Transfer-Encoding: chunked, gzip']],
    ['chunked twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    ['a space before the colon', ['Transfer-Encoding : chunked', 'Content-Length: 5']],
    ['a header folded over two lines', ['X-Folded: a\r\n b', 'Content-Length: 5']],
    ['a folded transfer coding', ['Transfer-Encoding:\r\n chunked', 'Content-Length: 5']],
    ['a bare line feed between headers', ['X-A: b\nContent-Length: 5', 'Content-Length: 0']],
    ['a NUL in a header', ['X-A: b\0c', 'Content-Length: 5']],
    ['no colon in a header', ['Transfer-Encoding chunked', 'Content-Length: 5']],
  ] as const) {
    it(`${what} is refused, nothing after it is read as a request, and the connection ends`, async (t) => {
      const service = await start(t);
      const connection = await connectRaw(service);
      connection.write(rawRequest(TOKEN, [FORM, ...headers], '0\r\n\r\n') + service.good);
      const text = await connection.closed();
      assert.deepEqual(statuses(text), [400], text);
      assert.match(text, /Connection: close/);
      assert.equal(await issuedTokens(service), 0);
    });
  }

  it('a body that is far too large is refused without a reset, so that its sender reads the reply', async (t) => {
    const { port } = await start(t);
    const socket = connect(port, '127.0.0.1');
    const failures: Error[] = [];
    let text = '';
    socket.on('error', (error) => failures.push(error));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    // More than the kernel buffers, and little enough to arrive within `DISCARDED_BODY_MS` also on a busy machine.
    socket.write(rawRequest(TOKEN, [FORM], 'x'.repeat(4 * 1024 * 1024)));
    await new Promise((resolve) => socket.once('close', resolve));
    assert.deepEqual(failures, []);
    assert.deepEqual(statuses(text), [413]);
    assert.match(text, /Connection: close/);
  });

  it('a broken chunk is refused, and the connection ends', async (t) => {
    const service = await start(t);
    for (const chunk of ['zz\r\n', '5;\r\nscope', '-1\r\n', 'ffffffffffffffffff\r\n', '3\r\nabcd\r\n']) {
      const connection = await connectRaw(service);
      connection.write(rawRequest(TOKEN, [FORM, 'Transfer-Encoding: chunked'], `${chunk}\r\n0\r\n\r\n`) + service.good);
      const text = await connection.closed();
      assert.deepEqual(statuses(text), [400], `${chunk} ${text}`);
      assert.equal(await issuedTokens(service), 0);
    }
  });
});
