/** The receivers of the kill test: each verifies its requests, as a customer's would, and records them in the history. */
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { parseEnvelope } from '../../src/wire/envelope.ts';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import { cleanUp } from '../support/cleanup.ts';
import { type SeenRequest, startHttpsServer } from '../support/https-server.ts';
import { sharedCertificates } from '../support/tls.ts';
import { decodePayload, verifyDelivery } from '../support/verification.ts';
import type { Arrival } from './history.ts';

export type Kind = 'plain' | 'ordered' | 'keyed' | 'batched' | 'encrypted' | 'standard' | 'oauth';

export function orderOf(kind: Kind): boolean | 'key' {
  return kind === 'keyed' ? 'key' : kind === 'ordered';
}

export type Receiver = {
  readonly kind: Kind;
  readonly url: string;
  readonly apiKey: string;
  /** The secrets that may sign. A secret is added here before the service gets it. */
  readonly secrets: string[];
};

export type Receivers = {
  readonly arrivals: readonly Arrival[];
  /** Deliveries that no customer would have accepted, and why. */
  readonly problems: readonly string[];
  readonly tokenUrl: string;
  add(kind: Kind): Receiver;
  /** From now on every delivery is accepted. */
  acceptAll(): void;
};

type Options = {
  readonly privateKey: string;
  /** Draws a number in [0, 1): below 0.01 a delivery is refused. */
  readonly random: () => number;
};

type Answer = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

const BODY_BYTES = 16 * 1024 * 1024;
const TOKEN = 'token-of-the-kill-test';
const REFUSED_SHARE = 0.01;
const REFUSED_ATTEMPTS = 2;

export async function startReceivers(t: TestContext, { privateKey, random }: Options): Promise<Receivers> {
  const arrivals: Arrival[] = [];
  const problems: string[] = [];
  const receivers = new Map<string, Receiver>();
  let refuses = true;

  const receive = async (receiver: Receiver, request: SeenRequest): Promise<Answer> => {
    const read = await readArrival(receiver, request, privateKey);
    if (typeof read === 'string') {
      problems.push(`${receiver.kind}: ${read}`);
      return { status: 400 };
    }
    const { attemptNumber, ...arrival } = read;
    // A later one would be tried again after minutes only.
    const accepted = !(refuses && attemptNumber <= REFUSED_ATTEMPTS && random() < REFUSED_SHARE);
    arrivals.push({ ...arrival, accepted });
    return { status: accepted ? 204 : 503 };
  };

  const server = await startHttpsServer(sharedCertificates().server, {
    answer: async (request, response) => {
      const receiver = receivers.get(request.url);
      const planned = receiver === undefined ? token() : await receive(receiver, request);
      const { status = 200, headers = {}, body = '' } = planned;
      response.writeHead(status, headers).end(body);
    },
  });
  cleanUp(t, () => server.close());

  return {
    arrivals,
    problems,
    tokenUrl: `${server.origin}/token`,
    add: (kind) => {
      const receiver = {
        kind,
        url: `${server.origin}/${kind}`,
        apiKey: randomBytes(16).toString('hex'),
        secrets: [newSecret()],
      };
      receivers.set(`/${kind}`, receiver);
      return receiver;
    },
    acceptAll: () => {
      refuses = false;
    },
  };
}

/** As Standard Webhooks has it, so that every kind of endpoint may hold it. */
export function newSecret(): string {
  return randomBytes(32).toString('base64');
}

function token(): Answer {
  const body = JSON.stringify({ access_token: TOKEN, token_type: 'Bearer', expires_in: 3600 });
  return { headers: { 'content-type': 'application/json' }, body };
}

/** The delivery, or why the request is not a valid one. */
async function readArrival(
  { kind, apiKey, secrets }: Receiver,
  { method, url, headers, body }: SeenRequest,
  privateKey: string,
): Promise<(Omit<Arrival, 'accepted'> & { readonly attemptNumber: number }) | string> {
  if (headers['x-api-key'] !== apiKey) return 'x-api-key is another one';
  if (kind === 'oauth') {
    if (headers.authorization !== `Bearer ${TOKEN}`) return 'the bearer token is another one';
  } else {
    const verdict = await verifyDelivery({ method, pathAndQuery: url, headers, body, secrets });
    if (!verdict.ok) return verdict.description;
  }
  if (kind === 'standard' && !secrets.some((secret) => verifies(secret, headers, body))) {
    return 'the standardwebhooks library accepts none of the secrets';
  }
  const decrypt = (bytes: Uint8Array) => decryptBinary(bytes, privateKey);
  const decoded = await decodePayload(body, headers, { maxBytes: BODY_BYTES, decrypt });
  if (!decoded.ok) return decoded.description;
  const parsed = parseEnvelope(decoded.body);
  if (!parsed.ok) return parsed.description;
  const { records, attemptNumber } = parsed.envelope;
  const [first] = records;
  if (first === undefined) return 'it has no records';
  return {
    webhook: kind,
    attemptNumber,
    attemptAtMs: Math.round(first.createdAt + first.lag * 1000),
    records: records.map(({ offset, messageId, data }) => ({
      offset,
      messageId,
      key: (data as { key: string }).key,
    })),
  };
}

function verifies(secret: string, headers: SeenRequest['headers'], body: Buffer): boolean {
  try {
    new StandardWebhook(`whsec_${secret}`).verify(body.toString(), headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
