/** TLS to receivers (contract §5.1): 1.2 or newer, the certificate always verified. No option weakens it. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import tls, {
  type ConnectionOptions,
  type PeerCertificate,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
} from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { ClientCertificate } from '../domain/endpoint.ts';
import { deliveryError } from './classify.ts';
import { isLiteral } from './egress.ts';

/**
 * Reads the text of `SALLYPORT_CA_FILE`: its certificates, one PEM each. Throws without a certificate, and for an unreadable one: Node
 * would skip it silently, and every delivery would fail.
 */
export function readAuthorities(caPem: string): readonly string[] {
  const blocks =
    caPem.match(/-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]+-----END (?:TRUSTED )?CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error('the CA file has no certificate in PEM form');
  return blocks.map((block) => new X509Certificate(block).toString());
}

/** The newest context without a client certificate. */
let shared: { readonly authorities: readonly string[]; readonly context: SecureContext } | null = null;

/**
 * Trusts Node's roots and `authorities`, which may be intermediate ones, as for curl. Takes 20 ms and 1 MB with `authorities`, because Node
 * parses all roots again, so it is made once for all endpoints of the process and once for each client certificate. Throws an error of
 * class `tls` for an unusable client certificate; its message contains nothing of the key.
 */
export function makeSecureContext(authorities: readonly string[], client: ClientCertificate | null): SecureContext {
  if (client === null) {
    if (shared === null || !isDeepStrictEqual(shared.authorities, authorities))
      shared = { authorities, context: tls.createSecureContext(trusting(authorities)) };
    return shared.context;
  }
  const { certificate: cert, privateKey: key } = client;
  if (!belongTogether(cert, key)) {
    throw deliveryError('tls', "the endpoint's client certificate and private key cannot be used together");
  }
  return tls.createSecureContext({ ...trusting(authorities), cert, key });
}

function trusting(authorities: readonly string[]): SecureContextOptions {
  const minVersion = 'TLSv1.2';
  if (authorities.length === 0) return { minVersion };
  const ca = distinct([...tls.getCACertificates('default'), ...authorities]);
  return { ca, allowPartialTrustChain: true, minVersion };
}

/**
 * The options of every TLS connection to `host`, a name or address without brackets. `rejectUnauthorized` is set so that
 * NODE_TLS_REJECT_UNAUTHORIZED=0 changes nothing. An address is verified, but not sent as SNI (RFC 6066 §3). Sessions are not resumed,
 * because Node does not compare names on a resumed session.
 */
export function tlsOptions(host: string, secureContext: SecureContext): ConnectionOptions {
  return {
    host,
    servername: isLiteral(host) ? '' : host,
    secureContext,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    checkServerIdentity: checkNames,
    ALPNProtocols: ['http/1.1'],
  };
}

/**
 * As Node checks, but never against the common name (RFC 9110 §4.3.4). On Deno, whose TLS library ignores common names, it is not called.
 */
function checkNames(host: string, certificate: PeerCertificate): Error | undefined {
  const error = tls.checkServerIdentity(host, { ...certificate, subject: { ...certificate.subject, CN: '' } });
  return error !== undefined && certificate.subjectaltname === undefined
    ? deliveryError('tls_wrong_host', NO_ALTERNATIVE_NAME, error)
    : error;
}

const NO_ALTERNATIVE_NAME =
  "the receiver's certificate names its host only as its common name, which does not count: it has no subject " +
  'alternative name (RFC 9110 §4.3.4)';

/**
 * Whether the receiver asked for a client certificate and got none. Node does not report that, but only a client that was asked has shared
 * signature algorithms. Valid while the connection is open. Deno does not report them: false there.
 */
export function lacksCertificate(socket: TLSSocket): boolean {
  const asked = 'getSharedSigalgs' in socket && (socket.getSharedSigalgs() ?? []).length > 0;
  return asked && Object.keys(socket.getCertificate() ?? {}).length === 0;
}

/** Each certificate once: the system's certificates are mostly Node's own, and on Deno every connection parses all of them. */
function distinct(certificates: readonly string[]): string[] {
  return [...new Map(certificates.map((pem) => [pem.replaceAll(/\s/g, ''), pem])).values()];
}

/** Node silently ignores a missing half. */
function belongTogether(certificate: string, privateKey: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(privateKey));
  } catch {
    return false;
  }
}
