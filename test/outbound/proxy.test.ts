import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { adviceForOwner } from '../../src/domain/outcome.ts';
import { parseProxyUrl } from '../../src/outbound/proxy.ts';
import { startConnectProxy } from '../support/connect-proxy.ts';
import { startHttpsServer, startTcpServer } from '../support/https-server.ts';
import { makeCertificates } from '../support/tls.ts';
import { allowing, failed, loopbackTransport, requestTo, resolvingTo } from '../support/transport.ts';

const certificates = makeCertificates({ names: ['receiver.test', '127.0.0.1'] });
const { ca: caPem } = certificates;

async function startReceiver(
  t: TestContext,
): Promise<{ url: string; port: number; requests: readonly unknown[]; connections(): number }> {
  const receiver = await startHttpsServer(certificates.server);
  t.after(() => receiver.close());
  return { ...receiver, url: `https://receiver.test:${receiver.port}/` };
}

test('through a proxy the tunnel is asked for by checked address and TLS is verified by name', async (t) => {
  const receiver = await startReceiver(t);
  const proxy = await startConnectProxy(t);
  const { post } = loopbackTransport(t, { caPem, proxyUrl: proxy.url });
  const { ok, timings } = await post(requestTo(receiver.url));
  assert.ok(ok);
  for (const [step, ms] of Object.entries(timings)) assert.ok(Number.isInteger(ms), `${step} ${ms}`);
  assert.ok((await post(requestTo(receiver.url))).ok);
  const authority = `127.0.0.1:${receiver.port}`;
  assert.deepEqual(
    proxy.asked.map((asked) => [asked.authority, asked.headers.host]),
    [[authority, authority]],
  );
  failed(await post(requestTo(`https://other.test:${receiver.port}/`)), 'tls_wrong_host');
  assert.equal(receiver.requests.length, 2);
});

test('IP literals go through the proxy as they are', async (t) => {
  const receiver = await startReceiver(t);
  const proxy = await startConnectProxy(t);
  const { post } = loopbackTransport(t, { caPem, proxyUrl: proxy.url, resolve: () => assert.fail('resolved') });
  const { ok, timings } = await post(requestTo(`https://127.0.0.1:${receiver.port}/`));
  assert.deepEqual([ok, timings.dnsMs], [true, null]);
});

test('the egress rules apply with a proxy, which gets no refused request', async (t) => {
  const proxy = await startConnectProxy(t);
  const egress = allowing();
  const { post } = loopbackTransport(t, { caPem, proxyUrl: proxy.url, egress });
  failed(await post(requestTo('https://receiver.test/')), 'egress_refused');
  failed(await post(requestTo('https://127.0.0.1/')), 'egress_refused');
  const mixed = loopbackTransport(t, { caPem, proxyUrl: proxy.url, resolve: resolvingTo('127.0.0.1', '10.0.0.1') });
  failed(await mixed.post(requestTo('https://receiver.test/')), 'egress_refused');
  const unknown = loopbackTransport(t, { caPem, proxyUrl: proxy.url, resolve: resolvingTo() });
  failed(await unknown.post(requestTo('https://receiver.test/')), 'dns');
  assert.deepEqual(proxy.asked, []);
});

test('an error of the proxy names the address, but not to customers', async (t) => {
  const proxy = await startConnectProxy(t);
  proxy.answer(() => 403);
  const { post } = loopbackTransport(t, { caPem, proxyUrl: proxy.url });
  const messageTo = async (customerId: string | null): Promise<string> =>
    failed(await post(requestTo('https://receiver.test/', { customerId })), 'proxy').message;
  assert.equal(await messageTo(null), 'the proxy answered 403 to CONNECT 127.0.0.1:443');
  assert.equal(await messageTo('a'), 'the proxy answered 403 to CONNECT');
});

test("the proxy's credentials are sent only to the proxy", async (t) => {
  const receiver = await startReceiver(t);
  const proxy = await startConnectProxy(t);
  const { post } = loopbackTransport(t, { caPem, proxyUrl: `http://us%20er:p%40ss@127.0.0.1:${proxy.port}` });
  assert.ok((await post(requestTo(receiver.url))).ok);
  assert.equal(proxy.asked[0]?.headers['proxy-authorization'], `Basic ${Buffer.from('us er:p@ss').toString('base64')}`);
  assert.doesNotMatch(JSON.stringify(receiver.requests), /proxy-authorization/i);
});

test('the next address is tried when the proxy cannot reach one', async (t) => {
  const receiver = await startReceiver(t);
  const proxy = await startConnectProxy(t);
  proxy.answer((authority) => (authority.startsWith('[::1]') ? 502 : 200));
  const { post } = loopbackTransport(t, { caPem, proxyUrl: proxy.url, resolve: resolvingTo('::1', '127.0.0.1') });
  assert.ok((await post(requestTo(receiver.url))).ok);
  assert.deepEqual(
    proxy.asked.map(({ authority }) => authority),
    [`[::1]:${receiver.port}`, `127.0.0.1:${receiver.port}`],
  );
});

test('a proxy that refuses, is away or speaks something else is a failure of the proxy that shows no credentials', async (t) => {
  const receiver = await startReceiver(t);
  const refusing = await startConnectProxy(t);
  refusing.answer(() => 403);
  const garbling = await startTcpServer(t, (socket) => void socket.end('garbage\r\n\r\n'));
  const closing = await startTcpServer(t, (socket) => void socket.destroy());
  const early = await startTcpServer(t, (socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nforged'));
  for (const [port, expected] of [
    [refusing.port, /answered 403 to CONNECT 127\.0\.0\.1:\d+$/],
    [garbling, /HPE_/],
    [closing, /ECONNRESET/],
    [early, /answered 200/],
    [1, /ECONNREFUSED/],
  ] as const) {
    const { post } = loopbackTransport(t, { caPem, proxyUrl: `http://user:secret@127.0.0.1:${port}` });
    const { message, advice } = failed(await post(requestTo(receiver.url)), 'proxy');
    assert.match(message, expected);
    assert.doesNotMatch(advice, /SALLYPORT/);
    assert.match(adviceForOwner(null, 'proxy'), /SALLYPORT_EGRESS_PROXY/);
    assert.doesNotMatch(message, /secret/);
  }
  assert.equal(receiver.connections(), 0);
});

test('a proxy that never answers is cut off by the total time-out', async (t) => {
  const port = await startTcpServer(t, () => {});
  const { post } = loopbackTransport(t, { caPem, proxyUrl: `http://127.0.0.1:${port}` });
  const { message } = failed(await post(requestTo('https://receiver.test/', { timeoutMs: 2000 })), 'timeout');
  assert.match(message, /the connection was being opened$/);
});

test('a proxy URL is http with a host and nothing else', () => {
  assert.deepEqual(parseProxyUrl('http://proxy.test:3128'), { host: 'proxy.test', port: 3128, authorization: null });
  assert.deepEqual(parseProxyUrl('http://[::1]/'), { host: '::1', port: 80, authorization: null });
  assert.equal(parseProxyUrl('http://u:p@proxy.test').authorization, 'Basic dTpw');
  for (const text of [
    '',
    'proxy.test:3128',
    'https://proxy.test',
    'socks5://proxy.test',
    'http://proxy.test/x',
    'http://proxy.test?x',
    'http://u:secret@',
  ]) {
    assert.throws(
      () => parseProxyUrl(text),
      (error: Error) => /http:\/\/host:port$/.test(error.message),
    );
  }
});
