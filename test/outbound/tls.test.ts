import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { TlsOptions } from 'node:tls';
import { readAuthorities } from '../../src/outbound/tls.ts';
import { createTransport } from '../../src/outbound/transport.ts';
import { type HttpsServer, startHttpsServer, startTcpServer } from '../support/https-server.ts';
import { type Identity, makeCertificates } from '../support/tls.ts';
import { egressOf, failed, LOOPBACK, loopbackTransport, requestTo } from '../support/transport.ts';

const certificates = makeCertificates({ names: ['receiver.test', '127.0.0.1'] });
const { ca: caPem } = certificates;

async function startReceiver(t: TestContext, identity: Identity, tls: TlsOptions = {}): Promise<HttpsServer> {
  const receiver = await startHttpsServer(identity, { tls });
  t.after(() => receiver.close());
  return receiver;
}

test('a certificate that cannot be verified refuses the request, each for its reason', async (t) => {
  const table = [
    ['untrusted', 'tls_untrusted'],
    // Deno's TLS does not tell these two apart.
    ['expired', 'deno' in process.versions ? 'tls_untrusted' : 'tls_expired'],
    ['wrongHost', 'tls_wrong_host'],
  ] as const;
  const { post } = loopbackTransport(t, { caPem });
  for (const [kind, errorClass] of table) {
    const receiver = await startReceiver(t, certificates[kind]);
    const { timings } = failed(await post(requestTo(`https://receiver.test:${receiver.port}/`)), errorClass);
    assert.deepEqual([typeof timings.connectMs, timings.tlsMs], ['number', null]);
    assert.equal(receiver.requests.length, 0);
  }
});

test('an intermediate authority is trusted like a root, whether or not the receiver sends it', async (t) => {
  const intermediate = certificates.intermediate();
  const issued = intermediate.issue();
  const [leaf = ''] = issued.certificate.split(/(?<=-----END CERTIFICATE-----\n)/);
  for (const certificate of [issued.certificate, leaf]) {
    const receiver = await startReceiver(t, { ...issued, certificate });
    const { post } = loopbackTransport(t, { caPem: intermediate.ca });
    const outcome = await post(requestTo(`https://receiver.test:${receiver.port}/`));
    assert.ok(outcome.ok, JSON.stringify(outcome));
    const other = loopbackTransport(t, { caPem: makeCertificates().ca });
    failed(await other.post(requestTo(`https://receiver.test:${receiver.port}/`)), 'tls_untrusted');
  }
});

test('a host that only the common name of a certificate names is refused with that reason', async (t) => {
  const receiver = await startReceiver(t, certificates.issue({ names: ['receiver.test'], hasAlternatives: false }));
  const { post } = loopbackTransport(t, { caPem });
  const { message } = failed(await post(requestTo(`https://receiver.test:${receiver.port}/`)), 'tls_wrong_host');
  // Deno's TLS tells no reason.
  if (!('deno' in process.versions)) assert.match(message, /only as its common name, .* no subject alternative name/);
  failed(await post(requestTo(`https://127.0.0.1:${receiver.port}/`)), 'tls_wrong_host');
  assert.equal(receiver.requests.length, 0);
  const byAddress = await startReceiver(t, certificates.issue({ names: ['127.0.0.1'] }));
  failed(await post(requestTo(`https://receiver.test:${byAddress.port}/`)), 'tls_wrong_host');
});

test('a receiver that sends its whole chain is not advised to send it', async (t) => {
  const { post } = loopbackTransport(t, { caPem: makeCertificates().ca });
  const adviceOf = async (certificate: string): Promise<string> => {
    const receiver = await startReceiver(t, { ...certificates.server, certificate });
    return failed(await post(requestTo(`https://receiver.test:${receiver.port}/`)), 'tls_untrusted').advice;
  };
  const { certificate } = certificates.server;
  assert.match(await adviceOf(certificate), /send its whole certificate chain, or use/);
  // Deno's TLS does not tell these two apart.
  if (!('deno' in process.versions))
    assert.match(await adviceOf(certificate + caPem), /^The receiver sends its whole chain, and none/);
});

test('without the authority the certificate is not trusted', async (t) => {
  const receiver = await startReceiver(t, certificates.server);
  const { post } = loopbackTransport(t, {});
  failed(await post(requestTo(`https://receiver.test:${receiver.port}/`)), 'tls_untrusted');
  assert.equal(receiver.requests.length, 0);
});

test('NODE_TLS_REJECT_UNAUTHORIZED=0 does not turn verification off', async (t) => {
  t.after(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  const { post } = loopbackTransport(t, { caPem });
  for (const kind of ['untrusted', 'expired', 'wrongHost'] as const) {
    const receiver = await startReceiver(t, certificates[kind]);
    assert.ok(!(await post(requestTo(`https://receiver.test:${receiver.port}/`))).ok, kind);
    assert.equal(receiver.requests.length, 0);
  }
});

test('an address is verified against the addresses in the certificate, a name with a trailing dot as without', async (t) => {
  const receiver = await startReceiver(t, certificates.server);
  const byName = await startReceiver(t, certificates.issue({ names: ['receiver.test'] }));
  const { post } = loopbackTransport(t, { caPem });
  assert.ok((await post(requestTo(`https://127.0.0.1:${receiver.port}/`))).ok);
  assert.ok((await post(requestTo(`https://receiver.test.:${receiver.port}/`))).ok);
  failed(await post(requestTo(`https://127.0.0.1:${byName.port}/`)), 'tls_wrong_host');
  assert.equal(byName.requests.length, 0);
});

test('TLS below 1.2 and plain TCP are refused', async (t) => {
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  const receiver = await startReceiver(t, certificates.server, old);
  const plain = createServer().listen(0, '127.0.0.1');
  t.after(() => plain.close());
  const { post } = loopbackTransport(t, { caPem });
  const closing = await startTcpServer(t, (socket) => void socket.once('data', () => socket.destroy()));
  failed(await post(requestTo(`https://receiver.test:${receiver.port}/`)), 'tls');
  failed(await post(requestTo(`https://receiver.test:${closing}/`)), 'tls');
  failed(await post(requestTo(`https://receiver.test:${(plain.address() as AddressInfo).port}/`)), 'tls');
  assert.equal(receiver.connections(), 0);
  const recent = await startReceiver(t, certificates.server, { maxVersion: 'TLSv1.2' });
  assert.ok((await post(requestTo(`https://receiver.test:${recent.port}/`))).ok);
});

test('an endpoint that asks for mutual TLS gets the client certificate, and connections are not shared between certificates', async (t) => {
  const asking = { requestCert: true, rejectUnauthorized: true, ca: caPem };
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const receiver = await startReceiver(t, certificates.server, { ...asking, maxVersion });
    const { post } = loopbackTransport(t, { caPem });
    const url = `https://receiver.test:${receiver.port}/`;
    for (const clientCertificate of [null, undefined, makeCertificates().client]) {
      const outcome = await post(requestTo(url, { clientCertificate }));
      assert.ok(!outcome.ok && ['tls', 'reset'].includes(outcome.errorClass), JSON.stringify(outcome));
    }
    assert.equal(receiver.requests.length, 0);
    const other = certificates.issue({ names: ['other.example'] });
    for (const clientCertificate of [certificates.client, other, certificates.client]) {
      assert.ok((await post(requestTo(url, { clientCertificate }))).ok);
    }
    assert.deepEqual(
      receiver.requests.map(({ clientName }) => clientName),
      ['client.example', 'other.example', 'client.example'],
    );
    assert.ok(!(await post(requestTo(url))).ok);
    assert.equal(receiver.requests.length, 3);
  }
});

test('a receiver that closes because it wants a client certificate is distinguished from one that closes for another reason', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const strict = { requestCert: true, rejectUnauthorized: true, ca: caPem, maxVersion };
    const { port } = await startReceiver(t, certificates.server, strict);
    // In TLS 1.3 the refusal comes after the handshake: whether its alert or the end of the connection is read first is chance.
    const { message } = failed(
      await loopbackTransport(t, { caPem }).post(requestTo(`https://receiver.test:${port}/`)),
      'tls',
    );
    assert.match(message, /^the receiver ask(?:s|ed) for a client certificate/);
  }
  const receiver = await startReceiver(t, certificates.server, { requestCert: true, rejectUnauthorized: false });
  const { post } = loopbackTransport(t, { caPem });
  const url = `https://receiver.test:${receiver.port}/`;
  const close = (_request: unknown, response: ServerResponse): void => void response.destroy();
  receiver.answer(close);
  const { message } = failed(await post(requestTo(url)), 'tls');
  assert.equal(
    message,
    'the receiver asked for a client certificate, which the endpoint has not, and closed the connection (UND_ERR_SOCKET)',
  );
  // It was shown one.
  failed(await post(requestTo(url, { clientCertificate: certificates.client })), 'reset');
  // It had begun to answer.
  receiver.answer((_request, response) => {
    response.writeHead(200, { 'content-length': 10 });
    response.write('half');
    setImmediate(() => response.destroy());
  });
  failed(await post(requestTo(url)), 'reset');
  // It closes a connection on which it had taken a request, and then the new one.
  receiver.answer({ status: 200 });
  assert.ok((await post(requestTo(url))).ok);
  const connections = receiver.connections();
  receiver.answer(close);
  failed(await post(requestTo(url)), 'tls');
  assert.equal(receiver.connections(), connections + 1);
  // It did not ask.
  const other = await startReceiver(t, certificates.server);
  other.answer(close);
  failed(await post(requestTo(`https://receiver.test:${other.port}/`)), 'reset');
});

test('a receiver that asks for a client certificate with a certificate that is not trusted is untrusted', async (t) => {
  const receiver = await startReceiver(t, certificates.untrusted, { requestCert: true, rejectUnauthorized: true });
  const { post } = loopbackTransport(t, { caPem });
  failed(await post(requestTo(`https://receiver.test:${receiver.port}/`)), 'tls_untrusted');
});

test('a client certificate that cannot be used fails the request and shows nothing of the key', async (t) => {
  const receiver = await startReceiver(t, certificates.server);
  const { post } = loopbackTransport(t, { caPem });
  const { certificate, privateKey } = certificates.client;
  for (const clientCertificate of [
    { certificate, privateKey: certificates.server.privateKey },
    { certificate: 'garbage', privateKey },
    { certificate, privateKey: 'garbage' },
    { certificate: '', privateKey },
  ]) {
    const { message } = failed(
      await post(requestTo(`https://receiver.test:${receiver.port}/`, { clientCertificate })),
      'tls',
    );
    assert.equal(message, "the endpoint's client certificate and private key cannot be used together");
  }
  assert.equal(receiver.connections(), 0);
});

test('a CA file is read as a whole or refused', () => {
  const other = makeCertificates().ca;
  assert.equal(readAuthorities(`# first\n${caPem}\nsecond\r\n${other}`).length, 2);
  for (const text of ['', 'garbage', certificates.server.privateKey])
    assert.throws(() => readAuthorities(text), /no certificate in PEM form/);
  const broken = caPem.replace(/\n[A-Za-z0-9+/]{64}\n/, '\n');
  assert.throws(() => createTransport({ egress: egressOf(LOOPBACK), caPem: `${caPem}${broken}`, proxyUrl: null }));
});
