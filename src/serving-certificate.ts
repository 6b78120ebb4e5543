/** The certificate that the service shows to those who call it. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { type Config, ConfigurationError, readSettingFile } from './config.ts';
import type { Log } from './log.ts';

/**
 * Null where the service is to listen without TLS. Throws a `ConfigurationError` for what cannot be used. One that is good no longer
 * can: whoever calls has to decide, and the log says so.
 */
export function readServingCertificate(
  { tlsCertFile, tlsKeyFile }: Config,
  log: Log,
): { readonly cert: string; readonly key: string } | null {
  if (tlsCertFile === null || tlsKeyFile === null) return null;
  const tls = { cert: readSettingFile('tlsCertFile', tlsCertFile), key: readSettingFile('tlsKeyFile', tlsKeyFile) };
  let certificate: X509Certificate;
  try {
    createSecureContext(tls);
    certificate = new X509Certificate(tls.cert);
    // Node has found that by now, Deno has not.
    if (!certificate.checkPrivateKey(createPrivateKey(tls.key))) throw new Error('the key is of another certificate');
  } catch (cause) {
    const problem = `the certificate and key cannot be used: ${(cause as Error).message}`;
    throw new ConfigurationError(`SALLYPORT_TLS_CERT_FILE, SALLYPORT_TLS_KEY_FILE: ${problem}`, { cause });
  }
  const { validTo } = certificate;
  if (Date.parse(validTo) <= Date.now())
    log.warn({ file: tlsCertFile, validTo }, 'the certificate has expired: clients will refuse it');
  return tls;
}
