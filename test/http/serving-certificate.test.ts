import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type Config, readConfig } from '../../src/config/config.ts';
import { openServingCertificate, type ServedTls } from '../../src/http/serving-certificate.ts';
import { createLog } from '../../src/observe/log.ts';
import { createLogReader, type LogLine } from '../support/log-reader.ts';
import { temporaryFolder } from '../support/store.ts';
import { type Identity, makeCertificates } from '../support/tls.ts';

const DAY_MS = 86_400_000;

type Opened = {
  readonly served: readonly ServedTls[];
  readonly lines: () => readonly LogLine[];
  renew(): void;
  /** The daily check. */
  look(now: number): Promise<void>;
};

function opened(config: Config): Opened & { readonly tls: ServedTls | null } {
  const log = createLogReader();
  const { tls, renew, jobs } = openServingCertificate(config, {
    log: createLog('info', { write: log.take }),
    clock: Date.now,
  });
  const served: ServedTls[] = [];
  return {
    tls,
    served,
    lines: log.lines,
    renew: () => renew((next) => void served.push(next)),
    look: async (now) => {
      for (const job of jobs) assert.ok((await job.begin(now)(1)).done);
    },
  };
}

function configOf(t: TestContext, identity: Identity): Config {
  const folder = temporaryFolder(t);
  const config = { ...readConfig({}), tlsCertFile: join(folder, 'cert.pem'), tlsKeyFile: join(folder, 'key.pem') };
  write(config, identity);
  return config;
}

function write({ tlsCertFile, tlsKeyFile }: Config, { certificate, privateKey }: Identity): void {
  writeFileSync(tlsCertFile ?? '', certificate);
  writeFileSync(tlsKeyFile ?? '', privateKey);
}

describe('the TLS certificate of the service', () => {
  const { server, expired, issue } = makeCertificates();

  it('is absent without settings, and nothing is logged', async () => {
    const { tls, look, lines } = opened(readConfig({}));
    await look(Date.now());
    assert.deepEqual([tls, lines()], [null, []]);
  });

  it('is accepted if it is valid or expired', (t) => {
    for (const identity of [server, expired])
      assert.deepEqual(opened(configOf(t, identity)).tls, { cert: identity.certificate, key: identity.privateKey });
  });

  it('is refused with the key of another one, with both settings in the message', (t) => {
    const config = configOf(t, { certificate: server.certificate, privateKey: expired.privateKey });
    assert.throws(
      () => opened(config),
      /SALLYPORT_TLS_CERT_FILE, SALLYPORT_TLS_KEY_FILE: the certificate and key cannot be used/,
    );
  });

  /** Certificates start a day ago: warnings begin 14 days before the end for 120 days, and in the last sixth of 6 for 5 days. */
  for (const [days, left, told] of [
    [120, 15, null],
    [120, 13, /^the certificate expires soon/],
    [5, 1.5, null],
    [5, 0.5, /^the certificate expires soon/],
    [120, -0.5, /^the certificate has expired/],
  ] as const) {
    it(`for ${days} days with ${left} left is ${told === null ? 'not ' : ''}warned of at the daily look`, async (t) => {
      const config = configOf(t, issue({ days }));
      const { look, lines } = opened(config);
      await look(Date.now() + (days - left) * DAY_MS);
      assert.equal(lines().length, told === null ? 0 : 1);
      if (told === null) return;
      assert.match(lines()[0]?.msg ?? '', told);
      assert.equal(lines()[0]?.file, config.tlsCertFile);
    });
  }

  it('is reloaded on request, and its expiry is checked from then on', async (t) => {
    const config = configOf(t, issue({ days: 5 }));
    const { renew, served, lines, look } = opened(config);
    const next = issue({ days: 120 });
    write(config, next);
    renew();
    assert.deepEqual(served, [{ cert: next.certificate, key: next.privateKey }]);
    await look(Date.now() + 6 * DAY_MS);
    assert.deepEqual(
      lines().map(({ level, msg }) => [level, msg]),
      [[30, 'the certificate was reloaded for new connections']],
    );
  });

  for (const [what, identity] of [
    ['has another key', { certificate: server.certificate, privateKey: expired.privateKey }],
    ['has expired', expired],
    ['is half written', { certificate: server.certificate.slice(0, 200), privateKey: server.privateKey }],
    ['is gone', null],
  ] as const) {
    it(`stays as it is where the one that is read again ${what}, which the log says`, (t) => {
      const config = configOf(t, server);
      const { renew, served, lines } = opened(config);
      if (identity === null) rmSync(config.tlsCertFile ?? '');
      else write(config, identity);
      renew();
      assert.deepEqual(served, []);
      assert.deepEqual(
        lines().map(({ level, msg }) => [level, msg]),
        [[50, 'the certificate was not reloaded: the previous one stays in use']],
      );
    });
  }

  it('is not reloaded if none is set, which is logged', () => {
    const { renew, served, lines } = opened(readConfig({}));
    renew();
    assert.deepEqual(served, []);
    assert.match(lines()[0]?.msg ?? '', /^there is no certificate to reload/);
  });
});
