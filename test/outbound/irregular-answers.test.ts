/** Responses that violate HTTP and that other clients accept: the status decides, and the problems are noted. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import fc from 'fast-check';
import { readHead } from '../../src/outbound/answer-head.ts';
import { startRawTlsServer } from '../support/https-server.ts';
import { makeCertificates } from '../support/tls.ts';
import { failed, loopbackTransport, requestTo } from '../support/transport.ts';

const certificates = makeCertificates({ names: ['receiver.test'] });
const { ca: caPem, server: identity } = certificates;

/** `problem` is one of those that are noted. */
type Irregular = readonly [answer: string, problem: string];

const OK = 'HTTP/1.1 200 OK\r\n';
const BODY = '{"a":1}';
const LENGTH = 'Content-Length: 7\r\n';
const IRREGULAR: readonly Irregular[] = [
  [`${OK}X-A: one\r\n two\r\n${LENGTH}\r\n${BODY}`, 'a header is folded over several lines'],
  [`${OK}X-A: one\r\n\ttwo\r\n three\r\n${LENGTH}\r\n${BODY}`, 'a header is folded over several lines'],
  [`${OK} X-A: one\r\n${LENGTH}\r\n${BODY}`, 'a header is folded over several lines'],
  [`${OK}${LENGTH}${LENGTH}\r\n${BODY}`, 'Content-Length is repeated'],
  [`${OK}Content-Length: 7, 7\r\n\r\n${BODY}`, 'Content-Length is repeated'],
  [`${OK}Content-Length : 7\r\n\r\n${BODY}`, 'a blank stands before the colon of a header'],
  [`${OK}X-A\t: b\r\n${LENGTH}\r\n${BODY}`, 'a blank stands before the colon of a header'],
  [`${OK}no colon in it\r\n${LENGTH}\r\n${BODY}`, 'a header line has no colon'],
  [`${OK}: no name\r\n${LENGTH}\r\n${BODY}`, 'a header has an invalid name'],
  [`${OK}Bad Header: x\r\n${LENGTH}\r\n${BODY}`, 'a header has an invalid name'],
  [`${OK}X-Ü: x\r\n${LENGTH}\r\n${BODY}`, 'a header has an invalid name'],
  [`${OK}X-A: b\x01c\0\r\n${LENGTH}\r\n${BODY}`, 'a header has a control character'],
  [`${OK}X-A: b\rc\r\n${LENGTH}\r\n${BODY}`, 'a header has a control character'],
  [`${OK}${LENGTH}\r\n${BODY}`.replaceAll('\r\n', '\n'), 'a line ends without CR'],
  [`${OK}${LENGTH}X-A: b\n\r\n${BODY}`, 'a line ends without CR'],
  [`HTTP/1.1  200  OK\r\n${LENGTH}\r\n${BODY}`, 'its status line is irregular'],
  [`HTTP/1.2 200 OK\r\n${LENGTH}\r\n${BODY}`, 'its status line is irregular'],
  [`HTTP/1.1 200 O\x01K\r\n${LENGTH}\r\n${BODY}`, 'its status line is irregular'],
  [
    `${OK}Transfer-Encoding: chunked\r\n${LENGTH}\r\n7\r\n${BODY}\r\n0\r\n\r\n`,
    'it has both Transfer-Encoding and Content-Length',
  ],
  [`${OK}Transfer-Encoding: chunked, Chunked\r\n\r\n7\r\n${BODY}\r\n0\r\n\r\n`, 'Transfer-Encoding is repeated'],
  [`${OK}Transfer-Encoding: identity\r\n\r\n${BODY}`, 'Transfer-Encoding names no coding'],
  [`${OK}${LENGTH}Content-Length: 8\r\n\r\n${BODY}`, 'Content-Length is repeated'],
  [`${OK}Content-Length: seven\r\n\r\n${BODY}`, 'Content-Length is not one number'],
  [`${OK}Content-Length:\r\n\r\n${BODY}`, 'Content-Length is not one number'],
];

test('a response that other clients accept delivers, is read whole, and its connection is not used again', async (t) => {
  let reply = '';
  let connections = 0;
  const port = await startRawTlsServer(t, identity, async (socket) => {
    connections += 1;
    await once(socket, 'data');
    // In two pieces, cut within the head.
    socket.write(reply.slice(0, 20), () => setImmediate(() => socket.end(Buffer.from(reply.slice(20), 'latin1'))));
  });
  const { post } = loopbackTransport(t, { caPem });
  for (const [answer, problem] of IRREGULAR) {
    for (const headDecides of [true, false]) {
      reply = answer;
      const before = connections;
      const outcome = await post(requestTo(`https://receiver.test:${port}/`, { headDecides }));
      assert.ok(outcome.ok, `${JSON.stringify(answer)}: ${JSON.stringify(outcome)}`);
      assert.equal(outcome.answer.status, 200);
      assert.ok(outcome.answer.problems?.includes(problem), `${JSON.stringify(answer)}: ${outcome.answer.problems}`);
      assert.equal(Buffer.from(outcome.answer.body).toString(), BODY, JSON.stringify(answer));
      assert.equal(connections, before + 1);
    }
  }
});

test('a connection that stays open after an irregular head is closed, and a status other than 2xx decides too', async (t) => {
  let connections = 0;
  const port = await startRawTlsServer(t, identity, (socket) => {
    connections += 1;
    socket.on('data', () => {
      socket.write(
        `HTTP/1.1 410 Gone\r\nRetry-After: 1\r\n 2\r\nSet-Cookie: a\r\nset-cookie : b\r\n${LENGTH}\r\n${BODY}`,
      );
    });
  });
  const { post } = loopbackTransport(t, { caPem });
  for (let i = 1; i <= 3; i += 1) {
    const { answer } = failed(await post(requestTo(`https://receiver.test:${port}/`)), 'http_status');
    assert.equal(answer?.status, 410);
    assert.deepEqual(answer.headers, { 'retry-after': '1 2', 'set-cookie': 'a, b', 'content-length': '7' });
    assert.equal(answer.truncated, false);
    assert.equal(connections, i);
  }
});

test('an unreadable body is noted with the status', async (t) => {
  const port = await startRawTlsServer(t, identity, async (socket) => {
    await once(socket, 'data');
    socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
  });
  const { post } = loopbackTransport(t, { caPem });
  const { ok, answer } = await post(requestTo(`https://receiver.test:${port}/`, { headDecides: true }));
  assert.deepEqual([ok, answer?.status], [true, 200]);
  assert.match(answer?.problems?.join() ?? '', /has an invalid chunk/);
});

const name = fc.constantFrom('X-A', 'content-length', 'Transfer-Encoding', 'x b', '', 'Connection', 'Set-Cookie');
const value = fc.constantFrom('0', '0, 0', '7', 'chunked', 'identity', 'a\tb', 'ü', 'a\x01', '', ' a ', 'close');
const line = fc
  .tuple(fc.constantFrom('', ' '), name, fc.constantFrom(':', ' :', ': ', ''), value)
  .map((parts) => parts.join(''));
const end = fc.constantFrom('\r\n', '\r\n', '\r\n', '\n');
const heads = fc
  .tuple(
    fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.0 404', 'HTTP/1.1  500 x'),
    fc.array(line, { maxLength: 6 }),
    fc.array(end, { minLength: 8, maxLength: 8 }),
  )
  .map(([status, lines, ends]) => [status, ...lines, ''].map((text, i) => `${text}${ends[i] ?? '\r\n'}`).join(''));

test('at most one header of a head tells how long the body is, and a head without problems stays as it is', () => {
  fc.assert(
    fc.property(heads, (sent) => {
      const read = readHead(sent);
      assert.equal(read.status, Number(/\d{3}/.exec(sent)?.[0]));
      const { 'content-length': length, 'transfer-encoding': coding } = read.headers;
      assert.ok(length === undefined || (coding === undefined && /^\d+$/.test(length)), JSON.stringify(read.headers));
      const written = Object.entries(read.headers).map(([name, value]) => `${name}: ${value}\r\n`);
      const again = readHead(`HTTP/1.1 ${read.status}\r\n${written.join('')}\r\n`);
      const kept = Object.entries(read.headers).map(([name, value]) => [name, value.trim()]);
      assert.deepEqual([again.headers, again.problems], [Object.fromEntries(kept), []]);
    }),
  );
});

test('blanks around a value are not part of it', () => {
  for (const end of ['\r\n', '\n'])
    assert.equal(readHead(`${OK}X-A: \t b c\t ${end}\r\n`).headers['x-a'], 'b c', JSON.stringify(end));
});

test('a response with any of these heads is read', async (t) => {
  let reply = '';
  const port = await startRawTlsServer(t, identity, (socket) => {
    socket.on('data', () => socket.end(Buffer.from(reply, 'latin1')));
  });
  const { post } = loopbackTransport(t, { caPem });
  const request = requestTo(`https://receiver.test:${port}/`, { headDecides: true });
  await fc.assert(
    fc.asyncProperty(heads, async (sent) => {
      reply = sent;
      const { answer } = await post(request);
      assert.equal(answer?.status, Number(/\d{3}/.exec(sent)?.[0]), JSON.stringify(sent));
    }),
    { numRuns: 60 },
  );
});
