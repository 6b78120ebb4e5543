/** The certificate that the service shows to those who call it: read at the start, and again when it is told to. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { type Config, ConfigurationError, readSettingFile } from '../config/config.ts';
import type { Job } from '../housekeeping/scheduler.ts';
import type { Clock } from '../kernel/ids.ts';
import { SERVING_CERTIFICATE_LOOK_EVERY_MS, SERVING_CERTIFICATE_WARNING_MS } from '../kernel/limits/housekeeping.ts';
import type { Log } from '../observe/log.ts';
import { NO_TIME } from '../store/steps.ts';

export type ServedTls = { readonly cert: string; readonly key: string };

export type ServingCertificate = {
  /** What the server begins with; null where it is to listen without TLS. */
  readonly tls: ServedTls | null;
  /**
   * Reads the files again and hands what is in them to `serve`, for connections from then on. What cannot be used, or has expired, is
   * said in the log, and what was served before goes on.
   */
  renew(serve: (tls: ServedTls) => void): void;
  /** Looks once a day whether it expires. One that is good no longer goes on: whoever calls has to decide, and the log says so. */
  readonly jobs: readonly Job[];
};

type Told = { readonly log: Log; readonly clock: Clock };

/** Throws a `ConfigurationError` for what cannot be used. */
export function openServingCertificate(config: Config, { log, clock }: Told): ServingCertificate {
  let current = readCertificate(config);
  return {
    tls: current?.tls ?? null,
    renew: (serve) => {
      if (current === null) {
        log.warn('there is no certificate to read again: the service listens without TLS');
        return;
      }
      try {
        const read = readCertificate(config) ?? current;
        if (read.expiresAt <= clock())
          throw new Error(`${read.file} expired on ${new Date(read.expiresAt).toISOString()}`);
        serve(read.tls);
        current = read;
      } catch (err) {
        log.error({ err }, 'the certificate was not renewed: the one before is served on');
        return;
      }
      const { file, expiresAt } = current;
      log.info(
        { file, validTo: new Date(expiresAt).toISOString() },
        'the certificate was read again: new connections get it',
      );
    },
    jobs: [
      {
        name: 'serving-certificate',
        everyMs: SERVING_CERTIFICATE_LOOK_EVERY_MS,
        begin: (now) => async () => {
          if (current !== null) warnOfExpiry(current, now, log);
          return { done: true, rows: 0, took: NO_TIME };
        },
      },
    ],
  };
}

type Read = { readonly tls: ServedTls; readonly file: string; readonly beganAt: number; readonly expiresAt: number };

function readCertificate({ tlsCertFile, tlsKeyFile }: Config): Read | null {
  if (tlsCertFile === null || tlsKeyFile === null) return null;
  const tls = { cert: readSettingFile('tlsCertFile', tlsCertFile), key: readSettingFile('tlsKeyFile', tlsKeyFile) };
  try {
    createSecureContext(tls);
    const certificate = new X509Certificate(tls.cert);
    // Node has found that by now, Deno has not.
    if (!certificate.checkPrivateKey(createPrivateKey(tls.key))) throw new Error('the key is of another certificate');
    const { validFrom, validTo } = certificate;
    return { tls, file: tlsCertFile, beganAt: Date.parse(validFrom), expiresAt: Date.parse(validTo) };
  } catch (cause) {
    const problem = `the certificate and key cannot be used: ${(cause as Error).message}`;
    throw new ConfigurationError(`SALLYPORT_TLS_CERT_FILE, SALLYPORT_TLS_KEY_FILE: ${problem}`, { cause });
  }
}

/** Whoever renews by a program does so with a third of the time left; in the last sixth that has not happened. */
function warnOfExpiry({ file, beganAt, expiresAt }: Read, now: number, log: Log): void {
  const facts = { file, validTo: new Date(expiresAt).toISOString() };
  if (expiresAt <= now) log.warn(facts, 'the certificate has expired: clients will refuse it');
  else if (expiresAt - now < Math.min(SERVING_CERTIFICATE_WARNING_MS, (expiresAt - beganAt) / 6))
    log.warn(facts, 'the certificate expires soon: renew it, and send SIGHUP');
}
