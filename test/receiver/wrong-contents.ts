/** Requests with invalid content. */
import { gzipSync } from 'node:zlib';
import { standardWebhooks } from '../../src/receiver/index.ts';
import { signedRequest } from '../support/signed-request.ts';
import { content, type Details, head, OTHER_HASH, set, twice, type WrongRequest } from './wrong-request.ts';

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
  content('another webhook-signature', 'wrong_signature', /^none of the 1 secrets signed msg_/, {
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
  head('encryption without a key', 'no_decryption', /the receiver has no decryption/, {
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
  content('a body that is too large', 'too_large', /^the body has more than the 10 bytes allowed$/, {
    options: { maxBytes: 10 },
    status: 413,
  }),
  content(
    'a body with a changed byte',
    'wrong_content_hash',
    /^x-content-sha256 does not match the \d+ bytes of the body: was it decompressed or parsed before\?$/,
    (request) => ({
      ...request,
      body: request.body.map((byte, index) => (index === 40 ? byte ^ 1 : byte)),
    }),
  ),
  content('an incomplete body', 'wrong_content_hash', /bytes of the body/, (request) => ({
    ...request,
    body: request.body.subarray(0, -1),
  })),
  content('no body', 'wrong_content_hash', /the 0 bytes of the body/, (request) => ({
    ...request,
    body: new Uint8Array(0),
  })),
  content('a body that a proxy decompressed', 'wrong_content_hash', /was it decompressed/, {
    sent: { gzip: true },
    change: async (request) => ({ ...request, body: (await signedRequest()).body }),
  }),
  content(
    'a body that is no gzip',
    'malformed_gzip',
    /^the body is not gzip, or is incomplete$/,
    payload(EMPTY, GZIP_TYPE),
  ),
  content(
    'a gzip that is cut',
    'malformed_gzip',
    /incomplete/,
    payload(gzipSync('{"records":[]}').subarray(0, -5), GZIP_TYPE),
  ),
  content(
    'a gzip and more',
    'malformed_gzip',
    /gzip/,
    payload(Buffer.concat([gzipSync('{}'), Buffer.of(1, 2, 3)]), GZIP_TYPE),
  ),
  content('a zip bomb', 'too_large', /^the decoded body has more than the 4194304 bytes allowed$/, {
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
  content(
    'a record without its data',
    'malformed_envelope',
    /^records\[0\]\.value\.aB, the data of a\.b, is missing$/,
    {
      sent: {
        content: Buffer.from(
          JSON.stringify({ subscriptionId: '', sessionId: '', attemptNumber: 1, records: [CUT_RECORD] }),
        ),
      },
    },
  ),
  content('a timestamp that is an object', 'malformed_envelope', /^records\[0\]\.timestamp is not an ISO 8601/, {
    sent: {
      content: Buffer.from(
        JSON.stringify({
          subscriptionId: '',
          sessionId: '',
          attemptNumber: 1,
          records: [{ ...CUT_RECORD, timestamp: { toString: 1, valueOf: 1 } }],
        }),
      ),
    },
  }),
];

export const WRONG_CONTENTS: readonly WrongRequest[] = [...STANDARD_WEBHOOKS, ...HEADS, ...CONTENTS];
