/** Refusals of the OAuth endpoints in the dialect of the request: the error body to JSON, RFC 6749 §5.2 to a form (contract §2). */
import type { IncomingMessage } from 'node:http';
import { Refusal, type RefusalCode } from '../kernel/refusal.ts';
import { isForm } from './oauth-parameters.ts';
import type { Reply } from './route.ts';

/** For `Route.refuse`. */
export function refuseInDialect(refusal: Refusal, { headers }: IncomingMessage): Reply | Refusal | null {
  if (!isForm(headers['content-type'])) {
    return refusal.code === 'malformed_json' ? new Refusal('invalid_request', refusal.message) : null;
  }
  const isClientRefused = refusal.code === 'invalid_client';
  // A client that used the header is told the scheme (RFC 6749 §5.2), and so is one that sent no credentials at all.
  const challenge =
    isClientRefused && headers.authorization !== undefined ? { 'WWW-Authenticate': BASIC_CHALLENGE } : {};
  return {
    status: isClientRefused ? 401 : refusal.status,
    headers: { Pragma: 'no-cache', ...challenge, ...refusal.headers },
    body: { error: ERRORS[refusal.code] ?? refusal.code, error_description: describable(refusal.message) },
  };
}

/** RFC 7617. */
export const BASIC_CHALLENGE = 'Basic realm="sallyport", charset="UTF-8"';

/** What RFC 6749 has a name for; other codes go as they are. */
const ERRORS: Partial<Record<RefusalCode, string>> = {
  content_too_large: 'invalid_request',
  unsupported_media_type: 'invalid_request',
  request_timeout: 'invalid_request',
  unavailable: 'temporarily_unavailable',
};

/** The characters that `error_description` may have. */
function describable(description: string): string {
  return description.replaceAll('"', "'").replace(/[^\x20-\x7e]|\\/g, '?');
}
