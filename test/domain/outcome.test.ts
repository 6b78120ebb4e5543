/** The advice for each cause of a failed attempt, as a table. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  adviceFor,
  adviceForMessage,
  adviceForOwner,
  ERROR_CLASSES,
  type ErrorClass,
  failure,
  statusInMessage,
} from '../../src/domain/outcome.ts';
import { classifyError } from '../../src/outbound/classify.ts';

const CAUSES: readonly (readonly [errorClass: ErrorClass, status: number | null, advice: RegExp])[] = [
  ['http_status', 301, /Redirects are not followed\. Set the endpoint's URL/],
  ['http_status', 308, /Redirects are not followed/],
  ['http_status', 400, /Compare the payload/],
  ['http_status', 401, /Compare the secret and the API key/],
  ['http_status', 403, /Compare the secret and the API key/],
  ['http_status', 404, /Check the path .* has nothing there/],
  ['http_status', 405, /Check the path .* POST/],
  ['http_status', 408, /reads the whole request/],
  ['http_status', 410, /permanently left .* start the webhook again/],
  ['http_status', 413, /limit for request bodies, or lower maxBatchRecords/],
  ['http_status', 415, /accepts application\/json/],
  ['http_status', 422, /Compare the payload/],
  ['http_status', 429, /maxRecordsPerSecond/],
  ['http_status', 500, /receiver's log for the error/],
  ['http_status', 502, /Check that the receiver is up/],
  ['http_status', 503, /Check that the receiver is up/],
  ['http_status', 504, /Check that the receiver is up/],
  ['http_status', 599, /receiver's log for the error/],
  ['http_status', 199, /receiver's log for the reason/],
  ['http_status', null, /receiver's log for the reason/],
  ['timeout', null, /answer first and work afterwards, or raise the time-out/],
  // The error counts, not the status that came before it.
  ['timeout', 200, /raise the time-out/],
  ['tls_expired', null, /Renew the receiver's certificate/],
  ['tls_wrong_host', null, /host name that the certificate names/],
  ['tls_untrusted', null, /authority that is trusted/],
  ['tls', null, /TLS 1\.2 or newer/],
  ['dns', null, /host name in the URL/],
  ['egress_refused', null, /reached from the internet/],
  ['connect', null, /firewalls/],
];

describe('the advice for a failed attempt', () => {
  for (const [errorClass, status, advice] of CAUSES) {
    it(`names what to check: ${errorClass}${status === null ? '' : ` ${status}`}`, () => {
      assert.match(adviceFor(errorClass, status), advice);
    });
  }

  it('for a certificate that is not trusted depends on the reason', () => {
    for (const [code, advice] of [
      ['DEPTH_ZERO_SELF_SIGNED_CERT', /signed this certificate itself/],
      ['SELF_SIGNED_CERT_IN_CHAIN', /none of its authorities is trusted/],
      ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /send its whole certificate chain, or use/],
      ['CERT_SIGNATURE_FAILURE', /has the same name and another key/],
      ['UNSPECIFIED', /issued again/],
    ] as const) {
      const { message } = classifyError(Object.assign(new Error('x'), { code }));
      assert.match(failure('tls_untrusted', message).advice, advice);
      assert.match(adviceForMessage(null, 'tls_untrusted', `tls_untrusted: ${message}`), advice);
    }
    assert.match(adviceFor('tls_untrusted'), /send its whole certificate chain, or use/);
  });

  it('names a setting to the operator only', () => {
    for (const errorClass of ERROR_CLASSES) {
      assert.doesNotMatch(adviceForOwner('a customer', errorClass), /SALLYPORT|Sallyport/);
      assert.ok(adviceForOwner(null, errorClass).startsWith(adviceFor(errorClass)));
    }
    assert.match(adviceForOwner(null, 'egress_refused'), /add it to SALLYPORT_EGRESS_ALLOW and restart\.$/);
    assert.match(adviceForOwner(null, 'tls_untrusted'), /SALLYPORT_CA_FILE/);
  });

  it('is a sentence for every status', () => {
    for (let status = 100; status < 600; status += 1) assert.match(adviceFor('http_status', status), /^[A-Z].+\.$/);
  });

  it('comes with the failure, by the status of the answer', () => {
    const answer = { status: 404, headers: {}, body: new Uint8Array(), truncated: false };
    assert.match(failure('http_status', 'the receiver answered 404', { answer }).advice, /Check the path/);
    assert.match(failure('dns', 'no such host').advice, /host name/);
  });

  it('finds the status in the message of a failure', () => {
    assert.equal(statusInMessage('the receiver answered 503'), 503);
    assert.equal(statusInMessage('http_status: the receiver answered 404'), 404);
    for (const other of [null, 'no answer within 15 s', 'answered 5030', 'answered 099']) {
      assert.equal(statusInMessage(other), null);
    }
  });
});
