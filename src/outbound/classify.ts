/** Maps the error codes of Node and OpenSSL to the closed list of outcomes. */
import type { ErrorClass } from '../domain/outcome.ts';

export type Classified = { readonly errorClass: ErrorClass; readonly message: string };

/** An error of this service with a known class; its message is shown unchanged. */
export function deliveryError(errorClass: ErrorClass, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { errorClass });
}

/** The receiver asked for a client certificate, got none, and closed the connection. */
export function certificateWanted(cause: unknown): Error {
  const { code } = describe(cause);
  const message = `the receiver asked for a client certificate, which the endpoint has not, and closed the connection (${code})`;
  return deliveryError('tls', message, cause);
}

/**
 * The class and message of an error, from its `code`, otherwise from the system call that failed. The message never quotes the request or
 * the response, so it holds no secret. An unknown error is `internal`, a fault of the service. Such attempts do not count and are retried
 * without end, so nothing that a receiver can cause may be classified so.
 */
export function classifyError(error: unknown): Classified {
  const { code, syscall, message, errorClass } = describe(error);
  if (errorClass !== undefined) return { errorClass, message };
  const known =
    RULES.find(({ codes }) => codes.test(code)) ?? OF_CALLS.find(({ codes }) => codes.test(syscall)) ?? UNKNOWN;
  return { errorClass: known.errorClass, message: said(known, code) };
}

/**
 * The same for a request on an open connection: an unknown error then comes from what the receiver sent.
 */
export function classifyAnswerError(error: unknown): Classified {
  const classified = classifyError(error);
  const { code } = describe(error);
  return classified.message === said(UNKNOWN, code) ? { ...NOT_HTTP, message: said(NOT_HTTP, code) } : classified;
}

function said({ message }: Pick<Classified, 'message'>, code: string): string {
  return `${message} (${code || 'no code'})`;
}

/** This machine or process has no resources left for a connection: file descriptors, memory. */
const EXHAUSTED = /^(?:EMFILE|ENFILE|ENOMEM|ENOBUFS|EAI_MEMORY|OUT_OF_MEM)$/;

export function isExhausted(error: unknown): boolean {
  return EXHAUSTED.test(describe(error).code);
}

type Rule = Classified & { readonly codes: RegExp };

const NOT_HTTP = { errorClass: 'malformed_response', message: 'the answer is not valid HTTP' } as const;

/** The first rule that matches wins. */
const RULES: readonly Rule[] = [
  rule(EXHAUSTED, 'internal', 'this machine has no more of what a connection takes'),
  rule(
    /^(?:ENOTFOUND|ENODATA|EAI_\w+|ESERVFAIL|EREFUSED|ENONAME|EBADNAME|EBADRESP|ETIMEOUT)$/,
    'dns',
    'the host name could not be resolved',
  ),
  rule(/^ECONNREFUSED$/, 'connect', 'the connection was refused: nothing listens there'),
  rule(
    /^(?:EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|EACCES|EPERM)$/,
    'connect',
    'the address cannot be reached from here',
  ),
  rule(/^CERT_HAS_EXPIRED$/, 'tls_expired', "the receiver's certificate has expired"),
  rule(/^CERT_NOT_YET_VALID$/, 'tls_expired', "the receiver's certificate is not valid yet"),
  rule(
    /^(?:ERR_TLS_CERT_ALTNAME_\w+|HOSTNAME_MISMATCH)$/,
    'tls_wrong_host',
    "the receiver's certificate is not for this host",
  ),
  rule(/^DEPTH_ZERO_SELF_SIGNED_CERT$/, 'tls_untrusted', "the receiver's certificate is self-signed"),
  rule(
    /^SELF_SIGNED_CERT_IN_CHAIN$/,
    'tls_untrusted',
    "the receiver's certificate comes from an authority that is not trusted",
  ),
  rule(
    // Node has no code for most reasons for which OpenSSL rejects a certificate, such as a short key.
    /^(?:UNABLE_TO_\w+|CERT_\w+|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_EXCEEDED|CRL_\w+|ERROR_IN_\w+|UNSPECIFIED)$/,
    'tls_untrusted',
    "the receiver's certificate is not trusted",
  ),
  rule(/CERTIFICATE_REQUIRED$/, 'tls', 'the receiver asks for a client certificate'),
  rule(/^ERR_SSL_.*(?:PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL)$/, 'tls', 'the receiver speaks no TLS 1.2 or newer'),
  rule(/^(?:ERR_SSL_|ERR_OSSL_|ERR_TLS_|EPROTO$)/, 'tls', 'the TLS handshake failed'),
  rule(/^(?:ETIMEDOUT|ERR_SOCKET_CONNECTION_TIMEOUT)$/, 'timeout', 'the address did not answer in time'),
  rule(/^(?:ECONNRESET|ECONNABORTED|EPIPE)$/, 'reset', 'the connection was closed before the answer was complete'),
];

/** By system call, for any other code: a connection may fail with many, and Node has no name for some. */
const OF_CALLS: readonly Rule[] = [
  rule(/^getaddrinfo$/, 'dns', 'the host name could not be resolved'),
  rule(/^(?:connect|socket)$/, 'connect', 'the address cannot be reached from here'),
  rule(/^(?:read|write|shutdown)$/, 'reset', 'the connection broke before the answer was complete'),
];

const UNKNOWN = rule(/./, 'internal', 'the request could not be made');

function rule(codes: RegExp, errorClass: ErrorClass, message: string): Rule {
  return { codes, errorClass, message };
}

type Described = {
  readonly code: string;
  readonly syscall: string;
  readonly message: string;
  readonly errorClass?: ErrorClass;
};

/** If every address of a name failed, Node throws one error for all; the first address represents them. */
function describe(error: unknown): Described {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error)) return { code: '', syscall: '', message: '' };
  const { code, syscall, errorClass } = first as { code?: unknown; syscall?: unknown; errorClass?: ErrorClass };
  return { code: textOf(code), syscall: textOf(syscall), message: first.message, ...(errorClass && { errorClass }) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
