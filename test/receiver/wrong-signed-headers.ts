/** Requests with invalid signed headers. */
import { PATH, SECRET, withHeader } from '../support/signed-request.ts';
import { arriving, OTHER_HASH, set, signature, stranger, twice, type WrongRequest } from './wrong-request.ts';

const CUSTOM = { customHeaders: [{ name: 'X-Tenant', value: 'acme' }] };
const TWO_CUSTOM = {
  customHeaders: [
    { name: 'x-a', value: '1' },
    { name: 'x-b', value: '2' },
  ],
};
export const WRONG_SIGNED_HEADERS: readonly WrongRequest[] = [
  stranger('a missing signed header', 'missing_header', /^the signed header x-tenant is missing$/, {
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
  stranger('another date', 'wrong_signature', /values of x-content-sha256, date$/, {
    change: (request) => withHeader(request, 'date', new Date(Date.now() - 9000).toUTCString()),
  }),
  stranger(
    'another content hash',
    'wrong_signature',
    /^none of the 1 secrets signed POST/,
    set('x-content-sha256', OTHER_HASH),
  ),
  stranger('another signature', 'wrong_signature', /POST \/hooks\/Sallyport\?tenant=17 with/, signature(OTHER_HASH)),
  stranger('other secrets', 'wrong_signature', /^none of the 3 secrets signed/, {
    options: { secrets: ['one', 'two', 'three'] },
  }),
  stranger('the text of the secret instead of its bytes', 'wrong_signature', /^none of the 1 /, {
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
  stranger('swapped values', 'wrong_signature', /x-a, x-b$/, {
    sent: TWO_CUSTOM,
    change: (request) => withHeader(withHeader(request, 'x-a', '2'), 'x-b', '1'),
  }),
];
