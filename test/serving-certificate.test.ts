import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type Config, defaultConfig } from '../src/config.ts';
import { createLog } from '../src/log.ts';
import { readServingCertificate } from '../src/serving-certificate.ts';
import { createLogReader } from './support/log-reader.ts';
import { temporaryFolder } from './support/store.ts';
import { makeCertificates } from './support/tls.ts';

function configOf(t: TestContext, { certificate, privateKey }: { certificate: string; privateKey: string }): Config {
  const folder = temporaryFolder(t);
  const [tlsCertFile, tlsKeyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(tlsCertFile, certificate);
  writeFileSync(tlsKeyFile, privateKey);
  return { ...defaultConfig(), tlsCertFile, tlsKeyFile };
}

describe('the certificate that is shown to callers', () => {
  const { server, expired } = makeCertificates();

  it('is none where none is given', () => {
    assert.equal(readServingCertificate(defaultConfig(), createLog('silent')), null);
  });

  for (const [what, identity, warnings] of [
    ['good', server, 0],
    ['expired', expired, 1],
  ] as const) {
    it(`is taken where it is ${what}, with ${warnings} warnings`, (t) => {
      const log = createLogReader();
      const tls = readServingCertificate(configOf(t, identity), createLog('warn', { write: log.take }));
      assert.equal(tls?.cert, identity.certificate);
      assert.equal(log.lines().filter(({ msg }) => msg?.includes('has expired')).length, warnings);
    });
  }

  it('is refused where the key is another one’s, naming both settings', (t) => {
    const config = configOf(t, { certificate: server.certificate, privateKey: expired.privateKey });
    assert.throws(
      () => readServingCertificate(config, createLog('silent')),
      /SALLYPORT_TLS_CERT_FILE, SALLYPORT_TLS_KEY_FILE: the certificate and key cannot be used/,
    );
  });
});
