/** The TLS certificate of the service, read at the start and again on request. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { type Config, ConfigurationError, readSettingFile } from '../config/config.ts';
import type { HousekeepingJob } from '../housekeeping/scheduler.ts';
import type { Clock } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { NO_TIME } from '../store/port/steps.ts';

/** Longest time before the expiry of the service's own certificate at which to warn, and how often to check. */
const SERVING_CERTIFICATE_WARNING_MS: number = 14 * 86_400_000;
const SERVING_CERTIFICATE_LOOK_EVERY_MS = 86_400_000;

export type ServedTls = { readonly cert: string; readonly key: string };

export type ServingCertificate = {
  /** The first certificate; null without TLS. */
  readonly tls: ServedTls | null;
  /**
   * Reads the files again and passes them to `serve` for new connections. Logs an error if they are unusable or expired, and keeps the
   * current certificate.
   */
  renew(serve: (tls: ServedTls) => void): void;
  /** Checks the expiry once a day and logs a warning. An expired certificate stays in use: clients decide whether to accept it. */
  readonly jobs: readonly HousekeepingJob[];
};

type Dependencies = { readonly log: Log; readonly clock: Clock };

/** Throws a `ConfigurationError` for unusable files. */
export function openServingCertificate(config: Config, { log, clock }: Dependencies): ServingCertificate {
  let current = readCertificate(config);
  return {
    tls: current?.tls ?? null,
    renew: (serve) => {
      if (current === null) {
        log.warn('there is no certificate to reload: the service listens without TLS');
        return;
      }
      try {
        const read = readCertificate(config) ?? current;
        if (read.expiresAt <= clock())
          throw new Error(`${read.file} expired on ${new Date(read.expiresAt).toISOString()}`);
        serve(read.tls);
        current = read;
      } catch (err) {
        log.error({ err }, 'the certificate was not reloaded: the previous one stays in use');
        return;
      }
      const { file, expiresAt } = current;
      log.info(
        { file, validTo: new Date(expiresAt).toISOString() },
        'the certificate was reloaded for new connections',
      );
    },
    jobs: [
      {
        name: 'serving-certificate',
        everyMs: SERVING_CERTIFICATE_LOOK_EVERY_MS,
        everywhere: true,
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
    // createSecureContext checks this in Node, but not in Deno.
    if (!certificate.checkPrivateKey(createPrivateKey(tls.key)))
      throw new Error('the key belongs to another certificate');
    const { validFrom, validTo } = certificate;
    return { tls, file: tlsCertFile, beganAt: Date.parse(validFrom), expiresAt: Date.parse(validTo) };
  } catch (cause) {
    const problem = `the certificate and key cannot be used: ${(cause as Error).message}`;
    throw new ConfigurationError(`SALLYPORT_TLS_CERT_FILE, SALLYPORT_TLS_KEY_FILE: ${problem}`, { cause });
  }
}

/** Programs renew certificates when a third of their lifetime is left, so the last sixth means that the renewal failed. */
function warnOfExpiry({ file, beganAt, expiresAt }: Read, now: number, log: Log): void {
  const facts = { file, validTo: new Date(expiresAt).toISOString() };
  if (expiresAt <= now) log.warn(facts, 'the certificate has expired: clients refuse it');
  else if (expiresAt - now < Math.min(SERVING_CERTIFICATE_WARNING_MS, (expiresAt - beganAt) / 6))
    log.warn(facts, 'the certificate expires soon: renew it and send SIGHUP');
}
