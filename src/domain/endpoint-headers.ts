/** Credentials and headers that an endpoint's own receiver expects (contract §12.4, §12.5), and names that only the service sets. Pure. */
import { secret } from '../kernel/secret.ts';
import { type Authentication, currentAuthentication, type Endpoint, type RequestHeader } from './endpoint.ts';
import { formsOfSecret } from './masking.ts';

export const REQUEST_HEADERS_MAX = 20;
export const HEADER_VALUE_MAX_BYTES = 4096;

/** RFC 9110 §5.6.2. */
export const HEADER_NAME: RegExp = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/;

/** RFC 9110 §5.5 without `obs-text`: visible ASCII, with spaces and tabs only inside. */
export const HEADER_VALUE: RegExp = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Who sets the headers that nobody else may set. A name that ends in `*` is a prefix. */
const SETTERS: readonly (readonly [names: string, setter: string])[] = [
  ['host connection keep-alive transfer-encoding te trailer upgrade expect', 'HTTP sets it'],
  ['proxy-*', 'proxies set it'],
  ['content-*', 'the encoding of the body sets it'],
  ['date x-content-*', 'the signature or the encryption sets it'],
  ['x-pgp-key-name x-original-encoding', 'the encryption sets it'],
  ['x-challenge-sha256', 'the token challenge sets it'],
  ['webhook-*', 'Standard Webhooks sets it'],
  ['ce-*', 'CloudEvents sets it'],
  ['traceparent tracestate', 'tracing sets it'],
];

const RESERVED: ReadonlyMap<string, string> = new Map(
  SETTERS.flatMap(([names, setter]) => names.split(' ').map((name) => [name, setter] as const)),
);

/** Why a header of this name is refused, or null. Names compare without regard to case. */
export function reservedProblem(name: string): string | null {
  const lower = name.toLowerCase();
  const prefix = [...RESERVED.keys()].find((one) => one.endsWith('*') && lower.startsWith(one.slice(0, -1)));
  const setter = RESERVED.get(lower) ?? (prefix === undefined ? undefined : RESERVED.get(prefix));
  return setter === undefined ? null : `${lower} is reserved: ${setter}`;
}

/** For stored values, which are sealed together. */
export function authenticationJson({ method, name, secret: value }: Authentication): string {
  return JSON.stringify([method, name, value.reveal()]);
}

export function authenticationOfJson(text: string): Authentication {
  const [method, name, value] = JSON.parse(text) as [Authentication['method'], string | null, string];
  return { method, name, secret: secret(value) };
}

export function requestHeadersJson(headers: readonly RequestHeader[]): string {
  return JSON.stringify(headers.map(({ name, value, secret: isSecret }) => [name, value.reveal(), isSecret]));
}

export function requestHeadersOfJson(text: string): readonly RequestHeader[] {
  const rows = JSON.parse(text) as [string, string, boolean][];
  return rows.map(([name, value, isSecret]) => ({ name, value: secret(value), secret: isSecret }));
}

/** The name of the header that an authentication sends, in lower case. */
export function authenticationHeader({ method, name }: Authentication): string {
  return method === 'header' && name !== null ? name.toLowerCase() : 'authorization';
}

/** The headers that an endpoint adds to a request, made once for its settings. */
export type OwnHeaders = {
  readonly headers: Readonly<Record<string, string>>;
  /** Those of `headers` that are secret, as people may see them. */
  readonly masked: Readonly<Record<string, string>>;
  /** `Authorization` is among them, so the request has no signature there. */
  readonly authorizes: boolean;
  /** The forms in which a receiver may return a secret to the sender. */
  readonly secrets: readonly string[];
};

/** By endpoint, with the authentication that they were made for. */
const MADE = new WeakMap<Endpoint, { readonly authentication: Authentication | null; readonly own: OwnHeaders }>();

/** The headers at `now`. An object of a cached endpoint is made once, and again when a rotation takes effect. */
export function ownHeaders(endpoint: Endpoint, now: number): OwnHeaders {
  const authentication = currentAuthentication(endpoint, now);
  const known = MADE.get(endpoint);
  if (known !== undefined && known.authentication === authentication) return known.own;
  const { authentication: former, nextAuthentication: next } = endpoint;
  const stored = [former, next].flatMap((one) => (one === null || one === authentication ? [] : [one]));
  const own = makeOwnHeaders(endpoint.requestHeaders ?? [], authentication, stored);
  MADE.set(endpoint, { authentication, own });
  return own;
}

const MASK = '[secret]';

/** The service has a `user-agent` of its own, in lower case. The endpoint replaces it. */
function keyOf(name: string): string {
  return name.toLowerCase() === 'user-agent' ? 'user-agent' : name;
}

/** `others`: the authentications of a rotation that are not sent now. A receiver that knows them may return them. */
function makeOwnHeaders(
  requestHeaders: readonly RequestHeader[],
  authentication: Authentication | null,
  others: readonly Authentication[],
): OwnHeaders {
  const headers: Record<string, string> = {};
  const masked: Record<string, string> = {};
  const secrets: string[] = [];
  for (const { name, value, secret: isSecret } of requestHeaders) {
    const key = keyOf(name);
    headers[key] = value.reveal();
    if (!isSecret) continue;
    masked[key] = MASK;
    secrets.push(value.reveal());
  }
  if (authentication === null) return { headers, masked, authorizes: false, secrets: secrets.flatMap(formsOfSecret) };
  const { name, value, scheme } = sentAuthentication(authentication);
  headers[name] = scheme + value;
  masked[name] = scheme + MASK;
  for (const one of [authentication, ...others]) secrets.push(sentAuthentication(one).value, one.secret.reveal());
  return { headers, masked, authorizes: name === 'authorization', secrets: secrets.flatMap(formsOfSecret) };
}

/** RFC 7617 §2 in UTF-8, RFC 6750 §2.1, or the value as it is. */
function sentAuthentication({ method, name, secret: given }: Authentication) {
  const text = given.reveal();
  if (method === 'basic')
    return { name: 'authorization', scheme: 'Basic ', value: Buffer.from(`${name}:${text}`).toString('base64') };
  if (method === 'bearer') return { name: 'authorization', scheme: 'Bearer ', value: text };
  const isAuthorization = name?.toLowerCase() === 'authorization';
  return { name: isAuthorization ? 'authorization' : keyOf(String(name)), scheme: '', value: text };
}
