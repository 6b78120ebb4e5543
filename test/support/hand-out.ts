/** The vectors that the functions of docs/hand-out.md decide about: all but those that need the rest of a receiver. */
import { type RequestVector, requestVectors } from './vectors.ts';

export type HandOutRequest = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

const FORGERIES = new Set([
  'missing_authorization',
  'wrong_scheme',
  'malformed_authorization',
  'unsigned_header',
  'malformed_content_hash',
  'stale_date',
  'future_date',
  'wrong_signature',
  'wrong_content_hash',
]);

const vectors = requestVectors.requests.filter(
  ({ method, standardWebhooks }) => method === 'POST' && !standardWebhooks,
);

export const authenticVectors: readonly RequestVector[] = vectors.filter((vector) => 'records' in vector);
export const forgedVectors: readonly RequestVector[] = vectors.filter(({ refused = '' }) => FORGERIES.has(refused));
export const challengeVectors: readonly RequestVector[] = vectors.filter(
  (vector) => 'answer' in vector || vector.refused === 'malformed_challenge',
);

export function secretsOf({ secrets }: RequestVector): readonly string[] {
  return secrets ?? requestVectors.secrets;
}

/** As a server reads it: names in lower case, repeated headers joined. */
export function requestOf({ url, headers, bodyBase64 }: RequestVector): HandOutRequest {
  const { pathname, search } = new URL(url);
  return {
    path: `${pathname}${search}`,
    headers: Object.fromEntries(new Headers(headers.map(([name, value]) => [name, value]))),
    body: Buffer.from(bodyBase64, 'base64'),
  };
}
