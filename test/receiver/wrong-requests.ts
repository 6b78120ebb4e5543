/** Everything that can be wrong with a request, one thing at a time, and what a receiver says of it. */
import { gzipSync } from 'node:zlib';
import { type RefusalCode, standardWebhooks } from '../../src/receiver/index.ts';
import type { Options } from '../support/receiver-transports.ts';
import {
  API_KEY,
  headerOf,
  PATH,
  type RawRequest,
  SECRET,
  type SignedRequestOptions,
  signedRequest,
  withHeader,
} from '../support/signed-request.ts';

export type WrongRequest = {
  readonly what: string;
  /** How it is made; rightly signed. */
  readonly sent: SignedRequestOptions;
  /** What is wrong with it on arrival. */
  change(request: RawRequest): RawRequest | Promise<RawRequest>;
  /** What is wrong with the receiver. */
  readonly options: Partial<Options>;
  readonly code: RefusalCode;
  readonly description: RegExp;
  readonly status: number;
  readonly verified: boolean;
  /** False where the headers tell already, and the body must be left unread. */
  readonly readsBody: boolean;
};

type Details = Partial<Pick<WrongRequest, 'sent' | 'change' | 'options' | 'status'>>;
type Change = NonNullable<Details['change']>;

/** Of a request that may come from anybody. */
function stranger(what: string, code: RefusalCode, description: RegExp, details: Details | Change): WrongRequest {
  return wrong(what, code, description, details, { status: 401, verified: false, readsBody: false });
}

/** Of a request that the sender made, with the headers of a body that cannot be taken. */
function head(what: string, code: RefusalCode, description: RegExp, details: Details | Change): WrongRequest {
  return wrong(what, code, description, details, { status: 400, verified: true, readsBody: false });
}

/** Of a request that the sender made, with a body that cannot be taken. */
function content(what: string, code: RefusalCode, description: RegExp, details: Details | Change): WrongRequest {
  return wrong(what, code, description, details, { status: 400, verified: true, readsBody: true });
}

function wrong(
  what: string,
  code: RefusalCode,
  description: RegExp,
  details: Details | Change,
  rest: Pick<WrongRequest, 'status' | 'verified' | 'readsBody'>,
): WrongRequest {
  const given = typeof details === 'function' ? { change: details } : details;
  return { what, code, description, sent: {}, change: (request) => request, options: {}, ...rest, ...given };
}

const set =
  (name: string, value: string | null): Change =>
  (request) =>
    withHeader(request, name, value);
const twice =
  (name: string): Change =>
  (request) => ({ ...request, headers: [...request.headers, [name, headerOf(request, name)]] });
const authorization =
  (change: (value: string) => string): Change =>
  (request) =>
    withHeader(request, 'authorization', change(headerOf(request, 'authorization')));
const signature = (text: string): Change =>
  authorization((value) => value.replace(/Signature=.*/, `Signature=${text}`));

const OTHER_HASH = Buffer.alloc(32, 7).toString('base64');
const NOW = Date.parse('2026-11-21T05:00:00.000Z');
const arriving = (afterSeconds: number, more: Partial<Options> = {}): Details => ({
  sent: { at: NOW },
  options: { clock: () => NOW + afterSeconds * 1000, ...more },
});

const API_KEYS: readonly WrongRequest[] = [
  stranger('another method', 'wrong_method', /^the method is PUT, not POST$/, {
    change: (request) => ({ ...request, method: 'PUT' }),
    status: 405,
  }),
  stranger('no API key', 'wrong_api_key', /^x-api-key is missing$/, set('x-api-key', null)),
  stranger('another API key', 'wrong_api_key', /^x-api-key is not the one agreed$/, set('x-api-key', '0'.repeat(32))),
  stranger('a longer API key', 'wrong_api_key', /not the one/, set('x-api-key', `${API_KEY}0`)),
  stranger('an API key that is not ASCII', 'wrong_api_key', /not the one/, set('x-api-key', API_KEY.replace('f', 'é'))),
  stranger('the API key twice', 'wrong_api_key', /not the one/, twice('x-api-key')),
  stranger('neither of two API keys', 'wrong_api_key', /not the one/, { options: { apiKey: ['one', 'two'] } }),
];

const LAYOUT = /^Authorization lacks SignedHeaders=a;b&Signature=c$/;
const SCHEME = /^Authorization is not of the scheme HMAC-SHA256$/;
const MANY = Array.from({ length: 15 }, (_, n) => `;x-${n}`).join('');
const AUTHORIZATION: readonly WrongRequest[] = [
  stranger('no Authorization', 'missing_authorization', /^Authorization is missing$/, set('authorization', null)),
  stranger('an empty Authorization', 'wrong_scheme', SCHEME, set('authorization', '')),
  stranger('a bearer token where none is taken', 'wrong_scheme', SCHEME, set('authorization', 'Bearer abc')),
  stranger(
    'the scheme in lower case',
    'wrong_scheme',
    SCHEME,
    authorization((value) => value.replace('HMAC', 'hmac')),
  ),
  stranger('Authorization twice', 'malformed_authorization', LAYOUT, twice('authorization')),
  stranger(
    'no Signature',
    'malformed_authorization',
    LAYOUT,
    authorization((value) => value.replace(/&.*/, '')),
  ),
  stranger('an empty Signature', 'malformed_authorization', LAYOUT, signature('')),
  stranger(
    'a Signature that is cut',
    'malformed_authorization',
    LAYOUT,
    authorization((value) => value.slice(0, -5)),
  ),
  stranger(
    'a Signature and more',
    'malformed_authorization',
    LAYOUT,
    authorization((value) => `${value}AAAA`),
  ),
  stranger('a Signature in hexadecimal', 'malformed_authorization', LAYOUT, signature('ab'.repeat(32))),
  stranger('a Signature that is not ASCII', 'malformed_authorization', LAYOUT, signature(`${'é'.repeat(43)}=`)),
  stranger(
    'a name signed twice',
    'malformed_authorization',
    LAYOUT,
    authorization((v) => v.replace('date', 'date;date')),
  ),
  stranger(
    '17 signed headers',
    'malformed_authorization',
    LAYOUT,
    authorization((v) => v.replace('date', `date${MANY}`)),
  ),
  stranger(
    'a name of 9,000 letters',
    'malformed_authorization',
    LAYOUT,
    authorization((v) => v.replace('date', 'a'.repeat(9000))),
  ),
  stranger(
    'a list without date',
    'unsigned_header',
    /^SignedHeaders lacks date$/,
    authorization((v) => v.replace(';date', '')),
  ),
  stranger(
    'a list without the content hash',
    'unsigned_header',
    /^SignedHeaders lacks x-content-sha256$/,
    authorization((value) => value.replace('x-content-sha256;', '')),
  ),
  stranger('a custom header that is relied on and not signed', 'unsigned_header', /^SignedHeaders lacks X-Role$/, {
    change: set('x-role', 'admin'),
    options: { requiredHeaders: ['X-Role'] },
  }),
];

const CUSTOM = { customHeaders: [{ name: 'X-Tenant', value: 'acme' }] };
const TWO_CUSTOM = {
  customHeaders: [
    { name: 'x-a', value: '1' },
    { name: 'x-b', value: '2' },
  ],
};
const SIGNED: readonly WrongRequest[] = [
  stranger('a signed header that is gone', 'missing_header', /^the signed header x-tenant is missing$/, {
    sent: CUSTOM,
    change: set('x-tenant', null),
  }),
  stranger('no date', 'missing_header', /^the signed header date is missing$/, set('date', null)),
  stranger(
    'no content hash',
    'missing_header',
    /^the signed header x-content-sha256 is missing$/,
    set('x-content-sha256', null),
  ),
  stranger(
    'a content hash in hexadecimal',
    'malformed_content_hash',
    /not Base64 of 32 bytes: "abab/,
    set('x-content-sha256', 'ab'.repeat(32)),
  ),
  stranger('the content hash twice', 'malformed_content_hash', /=, .*=/, twice('x-content-sha256')),
  stranger(
    'a date that is no date',
    'malformed_date',
    /^date is not an IMF-fixdate: "yesterday"$/,
    set('date', 'yesterday'),
  ),
  stranger('a date in ISO 8601', 'malformed_date', /"2026-11-21T05:00:00Z"/, set('date', '2026-11-21T05:00:00Z')),
  stranger('a date of the wrong weekday', 'malformed_date', /"Sun, /, set('date', 'Sun, 21 Nov 2026 05:00:00 GMT')),
  stranger('the date twice', 'malformed_date', /GMT, .* GMT"/, twice('date')),
  stranger('an old date', 'stale_date', /^date is 412 s old, 300 s allowed$/, arriving(412)),
  stranger('a date that is just too old', 'stale_date', /^date is 301 s old, 300 s allowed$/, arriving(301)),
  stranger('a date ahead', 'future_date', /^date is 301 s ahead of this clock, 300 s allowed$/, arriving(-301)),
  stranger(
    'a date older than is allowed here',
    'stale_date',
    /^date is 11 s old, 10 s allowed$/,
    arriving(11, { toleranceSeconds: 10 }),
  ),
  stranger(
    'a tolerance that is no number',
    'future_date',
    /NaN s allowed$/,
    arriving(0, { toleranceSeconds: Number.NaN }),
  ),
  stranger('another date', 'wrong_signature', /values of x-content-sha256, date$/, {
    change: (request) => withHeader(request, 'date', new Date(Date.now() - 9000).toUTCString()),
  }),
  stranger(
    'another content hash',
    'wrong_signature',
    /^none of 1 secrets signed POST/,
    set('x-content-sha256', OTHER_HASH),
  ),
  stranger('another signature', 'wrong_signature', /POST \/hooks\/Sallyport\?tenant=17 and/, signature(OTHER_HASH)),
  stranger('other secrets', 'wrong_signature', /^none of 3 secrets signed/, {
    options: { secrets: ['one', 'two', 'three'] },
  }),
  stranger('the text of the secret for its bytes', 'wrong_signature', /^none of 1/, {
    sent: { secret: Buffer.from(SECRET).toString('base64') },
  }),
  stranger('another path', 'wrong_signature', /POST \/other\?tenant=17/, (request) => ({
    ...request,
    path: '/other?tenant=17',
  })),
  stranger('another query', 'wrong_signature', /tenant=18/, (request) => ({
    ...request,
    path: PATH.replace('17', '18'),
  })),
  stranger('another value of a signed header', 'wrong_signature', /x-tenant$/, {
    sent: CUSTOM,
    change: set('x-tenant', 'evil'),
  }),
  stranger('a signed header twice', 'wrong_signature', /x-tenant$/, { sent: CUSTOM, change: twice('X-Tenant') }),
  stranger('values under each other’s names', 'wrong_signature', /x-a, x-b$/, {
    sent: TWO_CUSTOM,
    change: (request) => withHeader(withHeader(request, 'x-a', '2'), 'x-b', '1'),
  }),
];

const CHALLENGES: readonly WrongRequest[] = [
  stranger(
    'a challenge that is no token',
    'malformed_challenge',
    /not 43 Base64url characters, it has 44$/,
    set('x-challenge-sha256', 'x'.repeat(44)),
  ),
  stranger(
    'a challenge that would sign a made-up body',
    'malformed_challenge',
    /it has 26$/,
    set('x-challenge-sha256', '.1795237200.{"records":[]}'),
  ),
  stranger('two challenges', 'malformed_challenge', /it has 88$/, {
    change: (request) => ({
      ...request,
      headers: [...request.headers, ['x-challenge-sha256', 'q'.repeat(43)], ['x-challenge-sha256', 'q'.repeat(43)]],
    }),
  }),
  stranger('a challenge with another API key', 'wrong_api_key', /x-api-key/, (request) =>
    withHeader(withHeader(request, 'x-challenge-sha256', 'q'.repeat(43)), 'x-api-key', 'x'),
  ),
];

const BEARER = { sent: { bearer: 'good' }, options: { bearer: (token: string) => token === 'good' } };
const BEARERS: readonly WrongRequest[] = [
  stranger('a bearer token that is not accepted', 'wrong_token', /^the bearer token is not accepted$/, {
    ...BEARER,
    sent: { bearer: 'bad' },
  }),
  stranger('no bearer token', 'missing_authorization', /is missing/, { ...BEARER, change: set('authorization', null) }),
  stranger('a bearer token with a space', 'wrong_scheme', SCHEME, {
    ...BEARER,
    change: set('authorization', 'Bearer good good'),
  }),
  stranger('a bearer token twice', 'wrong_scheme', SCHEME, { ...BEARER, change: twice('authorization') }),
  stranger('a bearer token without a date', 'malformed_date', /: ""$/, { ...BEARER, change: set('date', null) }),
  stranger('a bearer token with an old date', 'stale_date', /3600 s old/, {
    sent: { ...BEARER.sent, at: NOW },
    options: { ...BEARER.options, clock: () => NOW + 3_600_000 },
  }),
  stranger('a bearer token without a content hash', 'malformed_content_hash', /: ""$/, {
    ...BEARER,
    change: set('x-content-sha256', null),
  }),
  content('a bearer token with another content hash', 'wrong_content_hash', /bytes here/, {
    ...BEARER,
    change: set('x-content-sha256', OTHER_HASH),
  }),
];

const WEBHOOKS = { sent: { standardWebhooks: true }, options: { standardWebhooks } };
const STANDARD_WEBHOOKS: readonly WrongRequest[] = [
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    head(`no ${name}`, 'missing_header', new RegExp(`^${name} is missing$`), { ...WEBHOOKS, change: set(name, null) }),
  ),
  head('a webhook-id of another form', 'malformed_id', /msg_/, { ...WEBHOOKS, change: set('webhook-id', 'POST/in') }),
  head('letters in webhook-timestamp', 'malformed_timestamp', /digits only/, {
    ...WEBHOOKS,
    change: set('webhook-timestamp', '1795237200abc'),
  }),
  head('an old webhook-timestamp', 'stale_timestamp', /s old, 300 s allowed$/, {
    ...WEBHOOKS,
    change: set('webhook-timestamp', '795237200'),
  }),
  head('a webhook-timestamp ahead', 'future_timestamp', /ahead of this clock/, {
    ...WEBHOOKS,
    change: set('webhook-timestamp', '9795237200'),
  }),
  head('a webhook-signature of another version', 'malformed_signature', /0 signatures of version v1/, {
    ...WEBHOOKS,
    change: set('webhook-signature', `v2,${OTHER_HASH}`),
  }),
  content('another webhook-signature', 'wrong_signature', /^none of 1 secrets signed msg_/, {
    ...WEBHOOKS,
    change: set('webhook-signature', `v1,${OTHER_HASH}`),
  }),
];

const JSON_TYPE = { 'content-type': 'application/json' };
const PGP_TYPE = { 'content-type': 'application/octet-stream', 'x-content-encrypted': 'true', 'x-pgp-key-name': 'k' };
const GZIP_TYPE = { ...JSON_TYPE, 'content-encoding': 'gzip' };
const payload = (bytes: Uint8Array, headers: Record<string, string>): Details => ({
  sent: { payload: { bytes, headers } },
});
const EMPTY = Buffer.from('{}');
const HEADS: readonly WrongRequest[] = [
  head(
    'no content type',
    'unsupported_content_type',
    /^content-type is "", not application\/json$/,
    payload(EMPTY, {}),
  ),
  head(
    'another content type',
    'unsupported_content_type',
    /"text\/plain"/,
    payload(EMPTY, { 'content-type': 'text/plain' }),
  ),
  head('the content type twice', 'unsupported_content_type', /json, application/, twice('content-type')),
  head(
    'another encoding',
    'unsupported_encoding',
    /^content-encoding is "br", not gzip$/,
    payload(EMPTY, { ...JSON_TYPE, 'content-encoding': 'br' }),
  ),
  head(
    'gzip within no encryption',
    'contradicting_headers',
    /^x-original-encoding without x-content-encrypted$/,
    payload(EMPTY, { ...JSON_TYPE, 'x-original-encoding': 'gzip' }),
  ),
  head(
    'gzip around encryption',
    'contradicting_headers',
    /^content-encoding with x-content-encrypted$/,
    payload(EMPTY, { ...PGP_TYPE, 'content-encoding': 'gzip' }),
  ),
  head(
    'x-content-encrypted: false',
    'contradicting_headers',
    /is not true/,
    payload(EMPTY, { ...JSON_TYPE, 'x-content-encrypted': 'false' }),
  ),
  head(
    'encryption without a name',
    'contradicting_headers',
    /x-pgp-key-name is missing$/,
    payload(EMPTY, { ...JSON_TYPE, 'x-content-encrypted': 'true' }),
  ),
  head('encryption where there is no key', 'no_decryption', /no key was given/, {
    ...payload(EMPTY, PGP_TYPE),
    status: 500,
  }),
];

const CUT_RECORD = {
  offset: 0,
  timestamp: '2026-11-21T05:00:00.000Z',
  lag: 0,
  correlationId: '',
  value: { headers: { messageId: '', eventType: 'a.b', actorId: null } },
};
const CONTENTS: readonly WrongRequest[] = [
  content('a body over the bound', 'too_large', /^the body has more than the 10 bytes allowed$/, {
    options: { maxBytes: 10 },
    status: 413,
  }),
  content(
    'a body with a changed byte',
    'wrong_content_hash',
    /^x-content-sha256 is not that of the \d+ bytes here: were they unpacked or parsed\?$/,
    (request) => ({
      ...request,
      body: request.body.map((byte, index) => (index === 40 ? byte ^ 1 : byte)),
    }),
  ),
  content('a body that is cut', 'wrong_content_hash', /bytes here/, (request) => ({
    ...request,
    body: request.body.subarray(0, -1),
  })),
  content('no body', 'wrong_content_hash', /the 0 bytes here/, (request) => ({ ...request, body: new Uint8Array(0) })),
  content('a body that was unpacked on its way', 'wrong_content_hash', /were they unpacked/, {
    sent: { gzip: true },
    change: async (request) => ({ ...request, body: (await signedRequest()).body }),
  }),
  content(
    'a body that is no gzip',
    'malformed_gzip',
    /^the body is not the gzip announced, or cut$/,
    payload(EMPTY, GZIP_TYPE),
  ),
  content(
    'a gzip that is cut',
    'malformed_gzip',
    /cut/,
    payload(gzipSync('{"records":[]}').subarray(0, -5), GZIP_TYPE),
  ),
  content(
    'a gzip and more',
    'malformed_gzip',
    /gzip/,
    payload(Buffer.concat([gzipSync('{}'), Buffer.of(1, 2, 3)]), GZIP_TYPE),
  ),
  content('a gzip bomb', 'too_large', /^the decoded body has more than the 4194304 bytes allowed$/, {
    ...payload(gzipSync(Buffer.alloc(50 * 1024 * 1024)), GZIP_TYPE),
    status: 413,
  }),
  content('a body that is not JSON', 'malformed_json', /^the body is not JSON in UTF-8$/, {
    sent: { content: Buffer.from('{"records":[}') },
  }),
  content('a body that is not UTF-8', 'malformed_json', /UTF-8/, {
    sent: { content: Buffer.from('{"records":["\xe9"]}', 'latin1') },
  }),
  content('JSON of another kind', 'malformed_envelope', /^subscriptionId is not a string$/, {
    sent: { content: Buffer.from('[]') },
  }),
  content('a record without its data', 'malformed_envelope', /^records\[0\]\.value\.aB is not there/, {
    sent: {
      content: Buffer.from(
        JSON.stringify({ subscriptionId: '', sessionId: '', attemptNumber: 1, records: [CUT_RECORD] }),
      ),
    },
  }),
];

export const WRONG_REQUESTS: readonly WrongRequest[] = [
  ...API_KEYS,
  ...AUTHORIZATION,
  ...SIGNED,
  ...CHALLENGES,
  ...BEARERS,
  ...STANDARD_WEBHOOKS,
  ...HEADS,
  ...CONTENTS,
];
