/** Error classes in a few words, for badges, causes and reasons. */
import type { ErrorClass } from '../../domain/outcome.ts';

const WORDS: Readonly<Record<ErrorClass, string>> = {
  dns: 'host name not found',
  connect: 'no connection',
  tls_untrusted: 'certificate not trusted',
  tls_expired: 'certificate expired',
  tls_wrong_host: 'certificate for another name',
  tls: 'TLS failed',
  timeout: 'no answer in time',
  egress_refused: 'address not allowed',
  reset: 'connection reset',
  response_too_large: 'response too large',
  malformed_response: 'malformed response',
  proxy: 'proxy failed',
  oauth_token: 'no OAuth token',
  encryption: 'encryption failed',
  http_status: 'error status',
  internal: 'internal error',
};

const TEXTS: ReadonlyMap<string, string> = new Map(Object.entries(WORDS));

/** An unknown class is shown by its name. */
export function errorWords(errorClass: string): string {
  return TEXTS.get(errorClass) ?? errorClass.replaceAll('_', ' ');
}
