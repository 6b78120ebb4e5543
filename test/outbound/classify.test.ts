import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adviceFor, adviceForOwner, type ErrorClass } from '../../src/domain/outcome.ts';
import { classifyAnswerError, classifyError, deliveryError } from '../../src/outbound/classify.ts';

const CLASSES: Readonly<Record<ErrorClass, readonly string[]>> = {
  dns: ['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENODATA', 'ESERVFAIL'],
  connect: ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'],
  tls_untrusted: [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'CERT_REVOKED',
    'INVALID_PURPOSE',
    'ERROR_IN_CERT_NOT_AFTER_FIELD',
    'UNSPECIFIED',
  ],
  tls_expired: ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'],
  tls_wrong_host: ['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH'],
  tls: [
    'EPROTO',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
  ],
  timeout: ['ETIMEDOUT', 'ERR_SOCKET_CONNECTION_TIMEOUT'],
  egress_refused: [],
  reset: ['ECONNRESET', 'ECONNABORTED', 'EPIPE'],
  response_too_large: [],
  malformed_response: [],
  proxy: [],
  oauth_token: [],
  encryption: [],
  http_status: [],
  internal: ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EAI_MEMORY', 'ERR_INVALID_ARG_TYPE', ''],
};

test('each error code has its class and its advice, and its message repeats nothing of the error', () => {
  for (const [errorClass, codes] of Object.entries(CLASSES) as [ErrorClass, readonly string[]][]) {
    assert.match(adviceFor(errorClass), /^[A-Z].+\.$/s);
    // Nothing of it is for the operator.
    assert.doesNotMatch(adviceForOwner('acme', errorClass), /this machine|service's log|SALLYPORT|CONNECT/);
    for (const code of codes) {
      const classified = classifyError(Object.assign(new Error('password=hunter2'), { code }));
      assert.equal(classified.errorClass, errorClass, code);
      assert.doesNotMatch(classified.message, /hunter2/);
    }
  }
});

test('an unknown code is classified by the call that failed, unless this machine lacks a resource', () => {
  const classOf = (syscall: string, code: string): ErrorClass =>
    classifyError(Object.assign(new Error('x'), { code, syscall })).errorClass;
  for (const code of ['EINVAL', 'EAFNOSUPPORT', 'ENOPROTOOPT', 'Unknown system error -92']) {
    const classes = ['getaddrinfo', 'connect', 'read', 'write', 'shutdown'].map((syscall) => classOf(syscall, code));
    assert.deepEqual(classes, ['dns', 'connect', 'reset', 'reset', 'reset'], code);
  }
  for (const code of ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS']) {
    for (const syscall of ['getaddrinfo', 'connect', 'socket', 'read'])
      assert.equal(classOf(syscall, code), 'internal');
  }
});

test('an unknown error while waiting for a response is malformed_response; known errors keep their class', () => {
  const classOf = (code: string): ErrorClass => classifyAnswerError(Object.assign(new Error('x'), { code })).errorClass;
  assert.deepEqual(['ERR_ASSERTION', 'ERR_OUT_OF_RANGE', '', 'ECONNRESET', 'ENOBUFS'].map(classOf), [
    'malformed_response',
    'malformed_response',
    'malformed_response',
    'reset',
    'internal',
  ]);
  assert.equal(classifyAnswerError(undefined).errorClass, 'malformed_response');
  assert.equal(classifyAnswerError(deliveryError('internal', 'the service is stopping')).errorClass, 'internal');
});

test('if every address failed, the first error is reported', () => {
  const errors = ['ENETUNREACH', 'ECONNREFUSED'].map((code) => Object.assign(new Error(code), { code }));
  assert.match(classifyError(new AggregateError(errors)).message, /ENETUNREACH/);
  assert.equal(classifyError(new AggregateError([])).errorClass, 'internal');
});

test('an error of ours keeps its class and its message', () => {
  assert.deepEqual(classifyError(deliveryError('proxy', 'why')), { errorClass: 'proxy', message: 'why' });
});

test('a value that is not an error, or has no code, is `internal`', () => {
  for (const thrown of [undefined, null, 'text', 7, {}, new Error('x'), Object.assign(new Error('x'), { code: 7 })]) {
    assert.equal(classifyError(thrown).errorClass, 'internal');
  }
});

test('the message explains the code where that helps', () => {
  const message = (code: string): string => classifyError(Object.assign(new Error(), { code })).message;
  assert.match(message('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'), /^the receiver speaks no TLS 1\.2 or newer/);
  assert.match(message('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), /^the receiver asks for a client certificate/);
  assert.match(message('CERT_NOT_YET_VALID'), /not valid yet/);
});
