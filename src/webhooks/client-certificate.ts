/** The client certificate of an endpoint (mutual TLS): which ones are accepted, and how they are stored. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { refuseField } from '../kernel/refusal.ts';
import { secret } from '../kernel/secret.ts';
import type { ClientCertificate } from '../outbound/tls.ts';
import type { Endpoint } from './endpoint.ts';
import type { EndpointInput } from './endpoint-schema.ts';

export function clientCertificateOf({ clientCertificate, clientPrivateKey }: Endpoint): ClientCertificate | null {
  if (clientCertificate === null || clientPrivateKey === null) return null;
  return { certificate: clientCertificate, privateKey: clientPrivateKey.reveal() };
}

export type CertificateColumns = Pick<
  Endpoint,
  'clientCertificate' | 'clientPrivateKey' | 'clientCertificateExpiresAt' | 'clientCertificateWarnedDays'
>;

export const NO_CERTIFICATE: CertificateColumns = {
  clientCertificate: null,
  clientPrivateKey: null,
  clientCertificateExpiresAt: null,
  clientCertificateWarnedDays: null,
};

/** The columns for a given certificate. Those of an unchanged certificate stay. Throws a refusal that names the field. */
export function certificateColumns(
  given: EndpointInput['clientCertificate'],
  before: CertificateColumns | null,
  now: number,
): CertificateColumns {
  if (given === null) return NO_CERTIFICATE;
  if (given.certificate === before?.clientCertificate && given.privateKey === before.clientPrivateKey?.reveal()) {
    const { clientCertificate, clientPrivateKey, clientCertificateExpiresAt, clientCertificateWarnedDays } = before;
    return { clientCertificate, clientPrivateKey, clientCertificateExpiresAt, clientCertificateWarnedDays };
  }
  const certificate = parsed(
    'clientCertificate.certificate',
    'is not a certificate in PEM',
    () => new X509Certificate(given.certificate),
  );
  const privateKey = parsed('clientCertificate.privateKey', 'is not an unencrypted private key in PEM', () =>
    createPrivateKey(given.privateKey),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw refuseField('clientCertificate.privateKey', 'is not the key of the certificate');
  }
  const expiresAt = Date.parse(certificate.validTo);
  if (expiresAt <= now) throw refuseField('clientCertificate.certificate', 'has expired');
  return {
    clientCertificate: given.certificate,
    clientPrivateKey: secret(given.privateKey),
    clientCertificateExpiresAt: expiresAt,
    clientCertificateWarnedDays: null,
  };
}

function parsed<T>(field: string, problem: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw refuseField(field, problem);
  }
}
