/** Requests with invalid credentials. */
import { API_KEY, withHeader } from '../support/signed-request.ts';
import {
  authorization,
  content,
  OTHER_HASH,
  set,
  signature,
  stranger,
  twice,
  type WrongRequest,
} from './wrong-request.ts';

const API_KEYS: readonly WrongRequest[] = [
  stranger('another method', 'wrong_method', /^the method is PUT, not POST$/, {
    change: (request) => ({ ...request, method: 'PUT' }),
    status: 405,
  }),
  stranger('no API key', 'wrong_api_key', /^x-api-key is missing$/, set('x-api-key', null)),
  stranger('another API key', 'wrong_api_key', /^x-api-key is wrong$/, set('x-api-key', '0'.repeat(32))),
  stranger('a longer API key', 'wrong_api_key', /is wrong/, set('x-api-key', `${API_KEY}0`)),
  stranger('an API key that is not ASCII', 'wrong_api_key', /is wrong/, set('x-api-key', API_KEY.replace('f', 'é'))),
  stranger('the API key twice', 'wrong_api_key', /is wrong/, twice('x-api-key')),
  stranger('neither of two API keys', 'wrong_api_key', /is wrong/, { options: { apiKey: ['one', 'two'] } }),
];

const LAYOUT = /^Authorization lacks SignedHeaders=a;b&Signature=c$/;
const SCHEME = /^the scheme of Authorization is not HMAC-SHA256$/;
const MANY = Array.from({ length: 15 }, (_, n) => `;x-${n}`).join('');
const AUTHORIZATION: readonly WrongRequest[] = [
  stranger('no Authorization', 'missing_authorization', /^Authorization is missing$/, set('authorization', null)),
  stranger('an empty Authorization', 'wrong_scheme', SCHEME, set('authorization', '')),
  stranger('an unexpected bearer token', 'wrong_scheme', SCHEME, set('authorization', 'Bearer abc')),
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
  stranger('a required custom header that is not signed', 'unsigned_header', /^SignedHeaders lacks X-Role$/, {
    change: set('x-role', 'admin'),
    options: { requiredHeaders: ['X-Role'] },
  }),
];

const CHALLENGES: readonly WrongRequest[] = [
  stranger(
    'a challenge that is no token',
    'malformed_challenge',
    /is not one token of visible ASCII/,
    set('x-challenge-sha256', 'two words'),
  ),
  stranger(
    'a challenge whose answer would sign a forged body',
    'malformed_challenge',
    /the answer would be a valid signature of a forged delivery$/,
    set('x-challenge-sha256', '.1795237200.{"records":[]}'),
  ),
  stranger('two challenges', 'malformed_challenge', /is not one token/, {
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
  stranger('a bearer token with an old date', 'stale_date', /^date is \d+ s old, 300 s allowed$/, {
    sent: { bearer: 'good', at: Date.now() - 3_600_000 },
    options: BEARER.options,
  }),
  stranger('a bearer token without a content hash', 'malformed_content_hash', /: ""$/, {
    ...BEARER,
    change: set('x-content-sha256', null),
  }),
  content('a bearer token with another content hash', 'wrong_content_hash', /bytes of the body/, {
    ...BEARER,
    change: set('x-content-sha256', OTHER_HASH),
  }),
];

export const WRONG_AUTHORIZATION: readonly WrongRequest[] = [...API_KEYS, ...AUTHORIZATION, ...CHALLENGES, ...BEARERS];
