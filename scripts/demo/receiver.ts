/**
 * The customer's side of the demo, in a process of its own: an HTTPS server that answers token challenges, verifies,
 * decrypts and unzips deliveries, and a small authorization server for those that come with a bearer token. Of the
 * project it uses src/wire alone.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { challengeAnswer } from '../../src/wire/challenge.ts';
import { challengeHeader } from '../../src/wire/challenge-answer.ts';
import { verifyDelivery } from '../../src/wire/delivery-verification.ts';
import { equalText, sha256Base64 } from '../../src/wire/hash.ts';
import { decodePayload } from '../../src/wire/payload-decoding.ts';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import { verifyStandardWebhook } from '../../src/wire/standard-webhooks-verification.ts';
import { type Expectation, type FromReceiver, OAUTH_CLIENT, TOKEN_PATH, type ToReceiver } from './messages.ts';

/** More than any delivery of the demo has. */
const BODY_BYTES = 8 * 1024 * 1024;

type Answer = { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };
type Request = IncomingMessage & { readonly url: string };

const expectations = new Map<string, Expectation & { answers: number[] }>();
const tokens = new Set<string>();

process.on('message', (message: ToReceiver) => {
  if (message.kind === 'serve') {
    serve(message);
  } else {
    expectations.set(message.path, { ...message, answers: [...message.answers] });
    tell({ kind: 'expecting', path: message.path });
  }
});
// The demo is gone.
process.on('disconnect', () => process.exit(0));

function serve({ certificate, privateKey }: { readonly certificate: string; readonly privateKey: string }): void {
  const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    answer(request as Request).then(
      ({ status, headers = {}, body = '' }) => response.writeHead(status, headers).end(body),
      (error: unknown) => {
        tell({ kind: 'refused', path: request.url ?? '', reason: String(error) });
        response.writeHead(500).end();
      },
    );
  });
  server.listen(0, '127.0.0.1', () => tell({ kind: 'serving', port: (server.address() as AddressInfo).port }));
}

async function answer(request: Request): Promise<Answer> {
  const body = await readBody(request);
  if (request.url === TOKEN_PATH) return issueToken(request, body);
  const expectation = expectations.get(request.url);
  if (expectation === undefined) return refuse(request, 404, 'nothing is expected at this path');
  if (!equalText(String(request.headers['x-api-key']), expectation.apiKey)) {
    return refuse(request, 401, 'x-api-key is not the one that was agreed');
  }
  const token = request.headers[challengeHeader];
  if (typeof token === 'string') {
    const signed = challengeAnswer({ pathAndQuery: request.url, token, secret: expectation.secret });
    tell({ kind: 'challenge', path: request.url, token, answer: signed });
    return { status: 200, headers: { [challengeHeader]: signed } };
  }
  return takeDelivery(request, body, expectation);
}

/** In this order: who sent it, what was done to it, what it says. */
async function takeDelivery(
  request: Request,
  body: Buffer,
  expectation: Expectation & { answers: number[] },
): Promise<Answer> {
  const { url, method = '', headers } = request;
  const { secret, authentication, standardWebhooks, decryption, answers } = expectation;
  const sender =
    authentication === 'bearer'
      ? verifyBearer(request, body)
      : await verifyDelivery({ method, pathAndQuery: url, headers, body, secrets: [secret] });
  if (!sender.ok) return refuse(request, 401, sender.description);
  if (standardWebhooks) {
    const standard = await verifyStandardWebhook({ headers, body, secrets: [secret] });
    if (!standard.ok) return refuse(request, 401, standard.description);
  }
  const decoded = await decodePayload(body, headers, {
    maxBytes: BODY_BYTES,
    decrypt: async (bytes, keyName) =>
      keyName === decryption?.keyName
        ? decryptBinary(bytes, decryption.privateKey)
        : { ok: false, code: 'unknown_key', description: `there is no key ${keyName} here` },
  });
  if (!decoded.ok) return refuse(request, 400, decoded.description);
  const status = answers.shift() ?? 204;
  tell({
    kind: 'delivery',
    path: url,
    headers: pairs(request.rawHeaders),
    bodyBytes: body.length,
    signedHeaders: sender.signedHeaders,
    encrypted: headers['x-content-encrypted'] === 'true',
    compressed: (headers['x-original-encoding'] ?? headers['content-encoding']) === 'gzip',
    json: Buffer.from(decoded.body).toString('utf8'),
    answered: status,
  });
  return { status };
}

function verifyBearer(
  { headers }: Request,
  body: Buffer,
): { ok: true; signedHeaders: readonly string[] } | { ok: false; description: string } {
  const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
  if (!tokens.has(token)) return { ok: false, description: 'the bearer token was not issued here' };
  if (!equalText(sha256Base64(body), String(headers['x-content-sha256']))) {
    return { ok: false, description: 'x-content-sha256 is not that of the body' };
  }
  return { ok: true, signedHeaders: [] };
}

/** RFC 6749 §4.4: client credentials by HTTP Basic, an access token of five minutes in return. */
function issueToken(request: Request, body: Buffer): Answer {
  const basic = Buffer.from(`${OAUTH_CLIENT.clientId}:${OAUTH_CLIENT.clientSecret}`).toString('base64');
  const form = new URLSearchParams(body.toString('utf8'));
  if (!equalText(request.headers.authorization ?? '', `Basic ${basic}`)) {
    return refuse(request, 401, 'the client credentials are wrong');
  }
  if (form.get('grant_type') !== 'client_credentials') return refuse(request, 400, 'the grant type is another');
  const token = randomBytes(24).toString('base64url');
  tokens.add(token);
  const scope = form.get('scope') ?? '';
  tell({ kind: 'token', path: request.url, clientId: OAUTH_CLIENT.clientId, scope });
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 300, scope }),
  };
}

function refuse({ url }: Request, status: number, reason: string): Answer {
  tell({ kind: 'refused', path: url, reason });
  return { status, body: reason };
}

async function readBody(request: Request): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > BODY_BYTES) throw new Error(`the body has more than ${BODY_BYTES} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : []));
}

function tell(message: FromReceiver): void {
  process.send?.(message);
}
