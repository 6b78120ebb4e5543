/** The certificate that an endpoint is shown when it asks for one (mutual TLS). */

import type { ClientCertificate } from '../outbound/tls.ts';
import type { Endpoint } from '../store/endpoints.ts';

export function clientCertificateOf({ clientCertificate, clientPrivateKey }: Endpoint): ClientCertificate | null {
  if (clientCertificate === null || clientPrivateKey === null) return null;
  return { certificate: clientCertificate, privateKey: clientPrivateKey.reveal() };
}
