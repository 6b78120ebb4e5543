#!/usr/bin/env node
/**
 * Receives Sallyport's webhooks. Node 20 or later without packages; GnuPG for encrypted deliveries.
 *
 * README.md in this folder has the settings and the order of the checks. Write your own handle().
 */
import { spawn } from 'node:child_process';
import { createHash, createHmac, createPublicKey, timingSafeEqual, verify as verifyAsymmetric } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { gunzipSync } from 'node:zlib';

const linesOf = (name) => (process.env[name] ?? '').split('\n').filter((line) => line !== '');
const [SECRETS, API_KEYS, PGP_KEYS] = ['WEBHOOK_SECRETS', 'WEBHOOK_API_KEYS', 'WEBHOOK_PGP_KEYS'].map(linesOf);
// Ed25519, whpk_ and Base64: they verify signatures v1a.
const PUBLIC_KEYS = linesOf('WEBHOOK_PUBLIC_KEYS');
const TOLERANCE_SECONDS = 300;
const MAX_BYTES = 4 * 1024 * 1024; // of a body, as received and once it is decoded
const MESSAGES_REMEMBERED = 50_000;
const TIMEOUT_MS = 30_000;

/** Write this. Once it returns, the message counts as handled. If it throws, the sender tries again. */
async function handle(messageId, eventType, data) {
  console.log(messageId, eventType, JSON.stringify(data));
}

// verify:begin
class Refused extends Error {
  constructor(status, code, sentence) {
    super(`${code}: ${sentence}`);
    this.status = status;
  }
}

function check(holds, status, code, sentence) {
  if (!holds) throw new Refused(status, code, sentence);
}

const AUTHORIZATION =
  /^HMAC-SHA256 SignedHeaders=([a-z0-9-]+(?:;[a-z0-9-]+){0,15})&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$/;

/** Returns the hash that the body must have. `target` is path and query as sent. `headers` is a Map, its names in lower case. */
function verify(target, headers, secrets, now) {
  const authorization = headers.get('authorization');
  check(authorization !== undefined, 401, 'missing_authorization', 'Authorization is missing');
  check(
    authorization.startsWith('HMAC-SHA256 '),
    401,
    'wrong_scheme',
    'the scheme of Authorization is not HMAC-SHA256',
  );
  const [, list, signature] = AUTHORIZATION.exec(authorization) ?? [];
  check(list !== undefined, 401, 'malformed_authorization', 'Authorization lacks SignedHeaders=a;b&Signature=c');
  const names = list.split(';');
  check(new Set(names).size === names.length, 401, 'malformed_authorization', 'SignedHeaders has a name twice');
  // Without the date, old requests could be replayed. Without the hash, bodies could be exchanged.
  for (const name of ['x-content-sha256', 'date'])
    check(names.includes(name), 401, 'unsigned_header', `SignedHeaders lacks ${name}`);
  for (const name of names) check(headers.has(name), 401, 'missing_header', `the signed header ${name} is missing`);
  const contentHash = headers.get('x-content-sha256');
  const isHash = /^[A-Za-z0-9+/]{43}=$/.test(contentHash);
  check(isHash, 401, 'malformed_content_hash', 'x-content-sha256 is not Base64 of 32 bytes');
  const age = Math.floor(now / 1000) - secondsOf(headers.get('date'));
  check(age <= TOLERANCE_SECONDS, 401, 'stale_date', `date is ${age} s old, ${TOLERANCE_SECONDS} s allowed`);
  const isFuture = age < -TOLERANCE_SECONDS;
  check(!isFuture, 401, 'future_date', `date is ${-age} s ahead of this clock, ${TOLERANCE_SECONDS} s allowed`);
  const signed = `POST\n${lowerCase(target)}\n${names.map((name) => headers.get(name)).join(';')}`;
  // Compares all of them in constant time, so that the time does not reveal which one matches.
  const matches = secrets.map((secret) => isSame(sign(secret, signed), signature));
  const text = `none of the ${secrets.length} secrets signed this path and these headers`;
  check(matches.includes(true), 401, 'wrong_signature', text);
  return contentHash;
}

function sign(secret, message) {
  // The key is the decoded secret if it is Base64 with padding, otherwise the bytes of its text.
  const isBase64 = secret.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(secret);
  const key = isBase64 ? Buffer.from(secret, 'base64') : secret;
  return createHmac('sha256', key).update(message).digest('base64');
}

function isSame(one, other) {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Only ASCII letters: the sender signs the others as they are. */
function lowerCase(target) {
  return target.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function secondsOf(date) {
  const at = Date.parse(date);
  // The parser accepts more formats than HTTP allows, but formats only the one of HTTP.
  const isDate = !Number.isNaN(at) && new Date(at).toUTCString() === date;
  check(isDate, 401, 'malformed_date', 'date is not as in Sat, 21 Nov 2026 05:00:00 GMT');
  return at / 1000;
}

/** Pass the bytes as received: a body that was parsed and serialized again has another hash. */
function checkHash(body, contentHash) {
  const text = `x-content-sha256 does not match the ${body.length} bytes received`;
  check(createHash('sha256').update(body).digest('base64') === contentHash, 400, 'wrong_content_hash', text);
}
// verify:end

/** Checks that one of the keys signed id, time and body (Standard Webhooks, v1a). Needs no secret. */
function verifyPublic(body, headers, publicKeys, now) {
  const named = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
  for (const name of named) check(headers.has(name), 401, 'missing_header', `${name} is missing`);
  const [id, timestamp, signatures] = named.map((name) => headers.get(name));
  const isTime = /^[0-9]{1,12}$/.test(timestamp);
  check(isTime, 401, 'malformed_timestamp', 'webhook-timestamp is not digits only');
  const age = Math.abs(Math.floor(now / 1000) - Number(timestamp));
  const late = `webhook-timestamp differs by ${age} s, ${TOLERANCE_SECONDS} s allowed`;
  check(age <= TOLERANCE_SECONDS, 401, 'stale_timestamp', late);
  const message = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const given = signatures.split(/\s+/).filter((text) => text.startsWith('v1a,'));
  const isSigned = publicKeys.some((key) => given.some((text) => isSignedBy(key, text.slice(4), message)));
  const text = `none of the ${publicKeys.length} public keys signed id, time and body`;
  check(isSigned, 401, 'wrong_signature', text);
}

function isSignedBy(publicKey, signature, message) {
  try {
    const x = Buffer.from(publicKey.replace(/^whpk_/, ''), 'base64').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verifyAsymmetric(null, message, key, Buffer.from(signature, 'base64'));
  } catch {
    return false; // no key or signature of Ed25519
  }
}

function challengeAnswer(target, token) {
  // Signs only tokens. Otherwise anyone could have any text signed.
  const isToken = /^[A-Za-z0-9_-]{43}$/.test(token);
  check(isToken, 401, 'malformed_challenge', 'x-challenge-sha256 is not 43 characters of Base64url');
  check(SECRETS.length > 0, 401, 'malformed_challenge', 'there is no secret to answer a challenge with');
  return sign(SECRETS[0], `POST${target}${token}`);
}

/** The name of the key (null if the body is not encrypted), and whether the body is compressed. */
function readEncoding(headers) {
  const [isEncrypted, keyName] = [headers.has('x-content-encrypted'), headers.get('x-pgp-key-name')];
  const isClear = !isEncrypted || (headers.get('x-content-encrypted') === 'true' && keyName !== undefined);
  check(isClear, 400, 'contradicting_headers', 'x-content-encrypted is not true, or x-pgp-key-name is missing');
  const plain = ['application/json', 'content-encoding', 'x-original-encoding'];
  const [mediaType, here, elsewhere] = isEncrypted ? ['application/octet-stream', plain[2], plain[1]] : plain;
  const [given] = (headers.get('content-type') ?? '').split(';');
  check(given.trim().toLowerCase() === mediaType, 400, 'unsupported_content_type', `content-type is not ${mediaType}`);
  check(!headers.has(elsewhere), 400, 'contradicting_headers', `${elsewhere} contradicts x-content-encrypted`);
  check((headers.get(here) ?? 'gzip').toLowerCase() === 'gzip', 400, 'unsupported_encoding', `${here} is not gzip`);
  const hasKey = !isEncrypted || PGP_KEYS.length > 0;
  check(hasKey, 500, 'no_decryption', 'the body is encrypted and WEBHOOK_PGP_KEYS names no key');
  return { keyName: isEncrypted ? keyName : null, isZipped: headers.has(here) };
}

async function decode(body, { keyName, isZipped }) {
  const content = keyName === null ? body : await decrypt(body, keyName);
  const decoded = isZipped ? gunzip(content) : content;
  check(decoded.length <= MAX_BYTES, 413, 'too_large', TOO_LARGE);
  return decoded;
}

const TOO_LARGE = `the decoded body has more than the ${MAX_BYTES} bytes allowed`;

async function decrypt(message, keyName) {
  check(PGP_KEYS.includes(keyName), 500, 'decryption_failed', `no private key has the name ${JSON.stringify(keyName)}`);
  // Never asks for a passphrase. The bound is for compressed data inside the PGP message.
  const options = ['--batch', '--no-tty', '--pinentry-mode', 'cancel', '--max-output', String(MAX_BYTES + 1)];
  const gpg = spawn('gpg', [...options, '--status-fd', '2', '--decrypt'], { timeout: TIMEOUT_MS });
  gpg.stdin.on('error', () => {}); // it ended before it read everything
  gpg.stdin.end(message);
  const ended = new Promise((resolve, reject) => gpg.on('error', reject).on('close', resolve));
  const [content, status, code] = await Promise.all([readAll(gpg.stdout), readAll(gpg.stderr), ended]);
  // GnuPG also outputs messages that were not encrypted, with exit status 0, but then without this line.
  const isDecrypted = code === 0 && status.toString().split('\n').includes('[GNUPG:] DECRYPTION_OKAY');
  check(isDecrypted, 500, 'decryption_failed', 'the PGP message was changed, cut, or is not for a key that is here');
  return content;
}

async function readAll(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function gunzip(packed) {
  try {
    return gunzipSync(packed, { maxOutputLength: MAX_BYTES }); // of a bomb no more than that is made
  } catch (error) {
    check(error.code !== 'ERR_BUFFER_TOO_LARGE', 413, 'too_large', TOO_LARGE);
    throw new Refused(400, 'malformed_gzip', 'the body is not gzip, or is incomplete');
  }
}

function readRecords(body) {
  let envelope;
  try {
    envelope = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    throw new Refused(400, 'malformed_json', 'the body is not JSON in UTF-8');
  }
  const { subscriptionId, sessionId, records } = envelope ?? {};
  const isEnvelope = isText(subscriptionId) && isText(sessionId) && Array.isArray(records);
  check(isEnvelope, 400, 'malformed_envelope', 'the body is JSON of another kind');
  return records.map((record) => readRecord(record?.value));
}

function readRecord(value) {
  const { messageId, eventType } = value?.headers ?? {};
  check(isText(messageId) && isText(eventType), 400, 'malformed_envelope', 'a record has no messageId or eventType');
  // The key of the data is the event type in camelCase: employee.created, employeeCreated.
  const key = eventType.replace(/[._-]+(.?)/g, (_, letter) => letter.toUpperCase());
  check(Object.hasOwn(value, key), 400, 'malformed_envelope', `a record has no ${key}`);
  return [messageId, eventType, value[key]];
}

const isText = (value) => typeof value === 'string';

const handled = new Set();
let handling = Promise.resolve();

/** Handles one delivery at a time: after a timeout, the sender may repeat a delivery that is still being handled here. */
function handleOnce(records) {
  const mine = handling.then(async () => {
    for (const [messageId, eventType, data] of records) {
      if (handled.has(messageId)) continue;
      await handle(messageId, eventType, data);
      handled.add(messageId);
      if (handled.size > MESSAGES_REMEMBERED) handled.delete(handled.values().next().value);
    }
  });
  handling = mine.catch(() => {});
  return mine;
}

/** Joins repeated headers, so that no single value is picked. */
function headersOf({ rawHeaders }) {
  const headers = new Map();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at].toLowerCase();
    headers.set(name, headers.has(name) ? `${headers.get(name)}, ${rawHeaders[at + 1]}` : rawHeaders[at + 1]);
  }
  return headers;
}

/** Returns the answer to a challenge, or null once the delivery is handled. */
async function receive(request) {
  const headers = headersOf(request);
  check(request.method === 'POST', 405, 'wrong_method', `the method is ${request.method}, not POST`);
  const isKnown = API_KEYS.map((key) => isSame(key, headers.get('x-api-key') ?? '')).includes(true);
  check(isKnown, 401, 'wrong_api_key', 'x-api-key is missing or not the one agreed');
  if (headers.has('x-challenge-sha256')) return challengeAnswer(request.url, headers.get('x-challenge-sha256'));
  const contentHash = SECRETS.length > 0 ? verify(request.url, headers, SECRETS, Date.now()) : null;
  const encoding = readEncoding(headers);
  const tooLarge = `the body has more than the ${MAX_BYTES} bytes allowed`;
  check(Number(headers.get('content-length') ?? 0) <= MAX_BYTES, 413, 'too_large', tooLarge);
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    check(length <= MAX_BYTES, 413, 'too_large', tooLarge);
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (contentHash !== null) checkHash(body, contentHash);
  if (PUBLIC_KEYS.length > 0) verifyPublic(body, headers, PUBLIC_KEYS, Date.now());
  await handleOnce(readRecords(await decode(body, encoding)));
  return null;
}

const REFUSED_WITH = { 401: { 'www-authenticate': 'HMAC-SHA256' }, 405: { allow: 'POST' } };

async function respond(request, response) {
  try {
    const answer = await receive(request);
    if (answer === null) response.writeHead(204).end();
    else response.writeHead(200, { 'x-challenge-sha256': answer }).end();
  } catch (error) {
    if (request.destroyed && !request.complete) return; // nobody waits for an answer
    const { status = 500 } = error instanceof Refused ? error : {};
    console.error(error instanceof Refused ? `refused: ${error.message}` : error);
    // Why something failed here is not the sender's business.
    const text = error instanceof Refused ? error.message : 'failed: see the log of the receiver';
    response.writeHead(status, { ...REFUSED_WITH[status], connection: 'close' }).end(text);
    request.resume();
  }
}

if (SECRETS.length + PUBLIC_KEYS.length === 0 || API_KEYS.length === 0) {
  console.error('WEBHOOK_SECRETS and WEBHOOK_API_KEYS are needed');
  process.exit(1);
}
const { HOST = '127.0.0.1', PORT = '3000', WEBHOOK_TLS_CERT_FILE: cert, WEBHOOK_TLS_KEY_FILE: key } = process.env;
const tls = cert === undefined ? null : { cert: readFileSync(cert), key: readFileSync(key ?? cert) };
const options = { requestTimeout: TIMEOUT_MS, ...tls };
const server = tls === null ? createServer(options, respond) : createTlsServer(options, respond);
server.listen(Number(PORT), HOST, () => console.log(`listening on port ${server.address().port}`));
