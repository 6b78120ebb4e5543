/**
 * A customer's receiver on a real HTTPS server. Each path is a separate endpoint. It answers the token challenge. For each
 * delivery it checks the API key and the signature or bearer token, decrypts, decompresses, parses and records it.
 */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { challengeAnswer } from '../../src/wire/challenge.ts';
import { challengeHeader } from '../../src/wire/challenge-answer.ts';
import { type Envelope, parseEnvelope, type ReceivedRecord } from '../../src/wire/envelope.ts';
import { equalText, sha256Base64 } from '../../src/wire/payload.ts';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import type { Verdict } from '../../src/wire/verdict.ts';
import { cleanUp } from './cleanup.ts';
import { type PlannedAnswer, type SeenRequest, startHttpsServer } from './https-server.ts';
import { createMailbox } from './mailbox.ts';
import type { Identity } from './tls.ts';
import { decodePayload, verifyDelivery } from './verification.ts';

/** One delivery that passed every check, or a heartbeat, which has no records. */
export type Delivery = {
  readonly request: SeenRequest;
  readonly envelope: Envelope;
  readonly records: readonly ReceivedRecord[];
  /** The decoded body. */
  readonly json: string;
};

export type ReceivingEndpoint = {
  readonly url: string;
  readonly path: string;
  /** The shared secret. The service must get it when the endpoint is created. */
  readonly secret: string;
  readonly apiKey: string;
  readonly deliveries: readonly Delivery[];
  /** The answered token challenges. */
  readonly challenges: readonly SeenRequest[];
  /** Waits for the next delivery that `next()` has not returned yet. Rejects if an invalid delivery arrived. */
  next(): Promise<Delivery>;
  /** Sets the response to further deliveries. Default: 204. */
  answer(plan: (delivery: Delivery) => PlannedAnswer | Promise<PlannedAnswer>): void;
  /** Sets the response to token challenges. Default: the correct one. */
  answerChallenge(plan: PlannedAnswer): void;
};

export type EndpointOptions = {
  /** Default: random, like the API key. */
  readonly secret?: string;
  readonly apiKey?: string;
  /** Armored private keys, by the name of the key in the service. */
  readonly privateKeys?: Readonly<Record<string, string>>;
  /** Valid bearer tokens. Deliveries must carry one of them instead of a signature. */
  readonly bearerTokens?: ReadonlySet<string>;
};

export type Receiver = {
  readonly port: number;
  readonly origin: string;
  /** Every request so far. */
  readonly requests: readonly SeenRequest[];
  connections(): number;
  endpoint(path: string, options?: EndpointOptions): ReceivingEndpoint;
  /** Handles a path that is not an endpoint, for example a token endpoint. */
  route(path: string, answer: (request: SeenRequest) => PlannedAnswer): void;
  /** Resolves when no connection is open and every request that arrived has been handled. */
  quiet(): Promise<void>;
  close(): Promise<void>;
};

export type ReceiverOptions = {
  /** The clock for checking dates. Must be the service's clock if the test advances it. */
  readonly clock?: () => number;
};

const BODY_BYTES = 64 * 1024 * 1024;

export async function startReceiver(
  t: TestContext,
  identity: Identity,
  { clock = Date.now }: ReceiverOptions = {},
): Promise<Receiver> {
  const routes = new Map<string, (request: SeenRequest) => PlannedAnswer | Promise<PlannedAnswer>>();
  const server = await startHttpsServer(identity, {
    answer: async (request, response) => {
      const route = routes.get(request.url);
      await writeAnswer(route === undefined ? { status: 404 } : await route(request), request, response);
    },
  });
  cleanUp(t, () => server.close());

  const endpoint: Receiver['endpoint'] = (path, options = {}) => {
    const { secret = randomBytes(32).toString('base64'), apiKey = randomBytes(16).toString('hex') } = options;
    const deliveries: Delivery[] = [];
    const challenges: SeenRequest[] = [];
    const mailbox = createMailbox<Delivery>(`a delivery to ${path}`);
    let plan: Parameters<ReceivingEndpoint['answer']>[0] = () => ({ status: 204 });
    let challengePlan: PlannedAnswer | null = null;

    routes.set(path, async (request) => {
      if (request.headers['x-api-key'] !== apiKey) return refused(mailbox, 'x-api-key is not the one that was agreed');
      const token = request.headers[challengeHeader];
      if (typeof token === 'string') {
        challenges.push(request);
        const answer = challengeAnswer({ pathAndQuery: request.url, token, secret });
        return challengePlan ?? { headers: { [challengeHeader]: answer } };
      }
      const read = await readDelivery(request, { ...options, secret, now: clock() });
      if (!read.ok) return refused(mailbox, `${read.code}: ${read.description}`);
      deliveries.push(read.delivery);
      mailbox.put(read.delivery);
      return plan(read.delivery);
    });
    return {
      url: server.origin + path,
      path,
      secret,
      apiKey,
      deliveries,
      challenges,
      next: mailbox.take,
      answer: (next) => {
        plan = next;
      },
      answerChallenge: (next) => {
        challengePlan = next;
      },
    };
  };

  return {
    port: server.port,
    origin: server.origin,
    requests: server.requests,
    connections: server.connections,
    endpoint,
    route: (path, answer) => void routes.set(path, answer),
    quiet: server.quiet,
    close: server.close,
  };
}

function refused(mailbox: { fail(reason: string): void }, reason: string): PlannedAnswer {
  mailbox.fail(reason);
  return { status: 400, body: reason };
}

type Reading = EndpointOptions & { readonly secret: string; readonly now: number };

/** Verifies the signature first and then decodes the body, as a customer's receiver does. */
async function readDelivery(
  request: SeenRequest,
  { secret, privateKeys = {}, bearerTokens, now }: Reading,
): Promise<Verdict<string, { readonly delivery: Delivery }>> {
  const { method, url, headers, body } = request;
  const trusted =
    bearerTokens === undefined
      ? await verifyDelivery({ method, pathAndQuery: url, headers, body, secrets: [secret], now })
      : verifyBearer(request, bearerTokens);
  if (!trusted.ok) return trusted;
  const decoded = await decodePayload(body, headers, {
    maxBytes: BODY_BYTES,
    decrypt: async (bytes, keyName) => {
      const privateKey = privateKeys[keyName];
      if (privateKey === undefined) return { ok: false, code: 'no_key', description: `there is no key ${keyName}` };
      return decryptBinary(bytes, privateKey);
    },
  });
  if (!decoded.ok) return decoded;
  const json = Buffer.from(decoded.body).toString('utf8');
  const parsed = parseEnvelope(decoded.body);
  if (!parsed.ok) return parsed;
  const { envelope } = parsed;
  return { ok: true, delivery: { request, envelope, records: envelope.records, json } };
}

function verifyBearer({ headers, body }: SeenRequest, tokens: ReadonlySet<string>): Verdict<string> {
  const [scheme, token = ''] = headers.authorization?.split(' ') ?? [];
  if (scheme !== 'Bearer' || !tokens.has(token)) {
    return { ok: false, code: 'wrong_token', description: 'the bearer token is not one that was issued' };
  }
  return equalText(sha256Base64(body), String(headers['x-content-sha256']))
    ? { ok: true }
    : { ok: false, code: 'wrong_content_hash', description: 'x-content-sha256 is not that of the body' };
}

async function writeAnswer(planned: PlannedAnswer, request: SeenRequest, response: ServerResponse): Promise<void> {
  if (typeof planned === 'function') return planned(request, response);
  const { status = 200, headers = {}, body = '' } = planned;
  response.writeHead(status, headers).end(body);
}
