/**
 * The customer's side of the demo, in its own process: an HTTPS server with the receiver that the project publishes, and a small
 * authorization server for deliveries with a bearer token.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createReceiver, type Receiver, standardWebhooks } from '../../src/receiver/index.ts';
import { pgpDecryption } from '../../src/receiver/pgp.ts';
import { statusOf } from '../../src/receiver/refusals.ts';
import { challengeHeader } from '../../src/wire/challenge-answer.ts';
import { equalText } from '../../src/wire/web-hash.ts';
import { type Expectation, type FromReceiver, OAUTH_CLIENT, TOKEN_PATH, type ToReceiver } from './messages.ts';

/** Larger than any delivery of the demo. */
const BODY_BYTES = 8 * 1024 * 1024;

type Answer = { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };
type Request = IncomingMessage & { readonly url: string };
type Path = {
  readonly receiver: Receiver<Record<string, unknown>>;
  readonly isBearer: boolean;
  readonly answers: number[];
};

const paths = new Map<string, Path>();
const tokens = new Set<string>();

process.on('message', (message: ToReceiver) => {
  if (message.kind === 'serve') {
    serve(message);
  } else {
    paths.set(message.path, pathOf(message));
    tell({ kind: 'expecting', path: message.path });
  }
});
// Ends with the demo.
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

/** Creates the receiver as a customer would. */
function pathOf({ secret, apiKey, authentication, decryption, answers, ...agreed }: Expectation): Path {
  const isBearer = authentication === 'bearer';
  const receiver = createReceiver({
    secrets: secret,
    apiKey,
    ...(isBearer ? { bearer: (token: string) => tokens.has(token) } : {}),
    ...(agreed.standardWebhooks ? { standardWebhooks } : {}),
    ...(decryption === null ? {} : { decrypt: pgpDecryption({ [decryption.keyName]: decryption }) }),
    onRecords: () => {},
  });
  return { receiver, isBearer, answers: [...answers] };
}

async function answer(request: Request): Promise<Answer> {
  const { url, method = '', headers } = request;
  const body = await readBody(request);
  if (url === TOKEN_PATH) return issueToken(request, body);
  const path = paths.get(url);
  if (path === undefined) return refuse(request, 404, 'this path is not configured');
  const sent = pairs(request.rawHeaders);
  const opened = await path.receiver.verify({ method, pathAndQuery: url, headers: sent, body });
  if (!opened.ok) return refuse(request, statusOf(opened), `${opened.code}: ${opened.description}`);
  if ('answer' in opened) {
    tell({ kind: 'challenge', path: url, token: String(headers[challengeHeader]), answer: opened.answer });
    return { status: 200, headers: { [challengeHeader]: opened.answer } };
  }
  if (!('delivery' in opened)) return refuse(request, 401, 'neither a challenge nor records');
  const { delivery } = opened;
  const isSigned = delivery.secretIndex !== null;
  if (isSigned === path.isBearer) return refuse(request, 401, 'the authentication is not the configured one');
  const status = path.answers.shift() ?? 204;
  tell({
    kind: 'delivery',
    path: url,
    headers: sent,
    bodyBytes: body.length,
    signedHeaders: isSigned ? Object.keys(delivery.headers) : [],
    encrypted: headers['x-content-encrypted'] === 'true',
    compressed: (headers['x-original-encoding'] ?? headers['content-encoding']) === 'gzip',
    json: Buffer.from(delivery.body).toString('utf8'),
    answered: status,
  });
  return { status };
}

/** The client credentials grant with HTTP Basic (RFC 6749 §4.4). Tokens are valid for five minutes. */
function issueToken(request: Request, body: Buffer): Answer {
  const basic = Buffer.from(`${OAUTH_CLIENT.clientId}:${OAUTH_CLIENT.clientSecret}`).toString('base64');
  const form = new URLSearchParams(body.toString('utf8'));
  if (!equalText(request.headers.authorization ?? '', `Basic ${basic}`)) {
    return refuse(request, 401, 'the client credentials are wrong');
  }
  if (form.get('grant_type') !== 'client_credentials')
    return refuse(request, 400, 'the grant type is not client_credentials');
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
