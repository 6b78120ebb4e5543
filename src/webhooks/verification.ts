/**
 * Verifies an endpoint (contract §5.5, §12.3): by the token challenge, which proves that its receiver holds the secret, or by the handshake
 * of CloudEvents, in which the receiver allows requests.
 */
import {
  clientCertificateOf,
  currentApiKey,
  type Endpoint,
  hasOwnHeaders,
  signingSecret,
  type Verification,
} from '../domain/endpoint.ts';
import { type OwnHeaders, ownHeaders } from '../domain/endpoint-headers.ts';
import { maskSecrets } from '../domain/masking.ts';
import { type Outcome, RESPONSE_KEPT_BYTES } from '../domain/outcome.ts';
import type { Clock, Random } from '../kernel/ids.ts';
import { Refusal, unknownAddress } from '../kernel/refusal.ts';
import { USER_AGENT } from '../kernel/version.ts';
import type { Transport, TransportRequest } from '../outbound/transport.ts';
import { challengeAnswer, challengeBody, newChallengeToken, verifyChallengeAnswer } from '../wire/challenge.ts';
import { challengeHeader } from '../wire/challenge-answer.ts';
import { ALLOWED_ORIGIN, handshakeOrigin, judgeHandshake, REQUEST_ORIGIN } from '../wire/handshake.ts';
import { pathAndQuery } from '../wire/signature.ts';
import { CHALLENGE_ANSWER_SHOWN_LENGTH } from './limits.ts';

/** Time for an endpoint to answer its challenge. */
export const CHALLENGE_TIMEOUT_MS = 10_000;

export type ChallengeEndpoint = (endpoint: Endpoint) => Promise<Verification>;

type Dependencies = {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  /** The address of the service, whose host is the origin of a handshake; null if it is unknown. */
  readonly publicUrl: () => string | null;
};

/**
 * Sends one challenge. The result says what went wrong. Throws 503 if the service stops before the answer or cannot make the request,
 * because that says nothing about the endpoint.
 */
export function createChallenge({ transport, clock, random, publicUrl }: Dependencies): ChallengeEndpoint {
  return async (endpoint) => {
    const at = clock();
    if (endpoint.verification === 'cloudevents') return shakeHands(transport, endpoint, publicUrl(), at);
    const token = newChallengeToken(random);
    const secret = signingSecret(endpoint, at).reveal();
    const body = Buffer.from(challengeBody(endpoint.id));
    const headers = { [challengeHeader]: token };
    const { outcome, shown } = await ask(transport, endpoint, at, { method: 'POST', headers, body });
    const challenge = { pathAndQuery: pathAndQuery(new URL(endpoint.url)), token, secret };
    const error = problemOf(outcome, challenge);
    return verificationOf(shown, { at, error, header: challengeHeader, token, wanted: challengeAnswer(challenge) });
  };
}

/** The outcome, and the answer without the endpoint's secrets. */
type Asked = { readonly outcome: Outcome; readonly shown: Outcome['answer'] };

async function ask(
  transport: Transport,
  endpoint: Endpoint,
  at: number,
  { method, headers, body }: Pick<TransportRequest, 'method' | 'headers' | 'body'>,
): Promise<Asked> {
  const own = hasOwnHeaders(endpoint) ? ownHeaders(endpoint, at) : null;
  const outcome = await transport.post({
    method,
    url: new URL(endpoint.url),
    customerId: endpoint.customerId,
    headers: {
      ...(body.length > 0 && { 'content-type': 'application/json' }),
      'user-agent': USER_AGENT,
      ...(endpoint.sendApiKey && { 'x-api-key': currentApiKey(endpoint, at).reveal() }),
      ...own?.headers,
      ...headers,
    },
    body,
    // Status and headers decide; the body is only shown.
    headDecides: true,
    timeoutMs: CHALLENGE_TIMEOUT_MS,
    clientCertificate: clientCertificateOf(endpoint),
  });
  if (!outcome.ok && outcome.errorClass === 'internal') {
    throw new Refusal('unavailable', `the endpoint was not verified: ${outcome.message}`);
  }
  return { outcome, shown: shownAnswer(outcome, own) };
}

/** The handshake of CloudEvents: asks the receiver to allow the origin of this service, which is at `address`. */
async function shakeHands(
  transport: Transport,
  endpoint: Endpoint,
  address: string | null,
  at: number,
): Promise<Verification> {
  if (address === null) throw unknownAddress(endpoint.customerId);
  const origin = handshakeOrigin(address);
  const headers = { [REQUEST_ORIGIN]: origin };
  const request = { method: 'OPTIONS', headers, body: new Uint8Array(0) } as const;
  const { outcome, shown } = await ask(transport, endpoint, at, request);
  const sent = { at, header: ALLOWED_ORIGIN, token: origin, wanted: origin };
  const { answer } = outcome;
  if (!outcome.ok && outcome.errorClass !== 'http_status')
    return verificationOf(shown, { ...sent, error: `${outcome.errorClass}: ${outcome.message}` });
  if (answer === null || !outcome.ok)
    return verificationOf(shown, { ...sent, error: `the endpoint answered ${answer?.status} instead of 2xx` });
  const verdict = judgeHandshake(answer.headers, origin);
  if (!verdict.ok) return verificationOf(shown, { ...sent, error: `${verdict.code}: ${verdict.description}` });
  return { ...verificationOf(shown, { ...sent, error: null }), allowedPerMinute: verdict.allowedPerMinute };
}

type Told = {
  readonly at: number;
  readonly error: string | null;
  /** The header of the answer that decides. `token` was sent, and `wanted` is the expected value. */
  readonly header: string;
  readonly token: string;
  readonly wanted: string;
};

function verificationOf(answer: Outcome['answer'], { at, error, header, token, wanted }: Told): Verification {
  const came = answer?.headers[header]?.slice(0, CHALLENGE_ANSWER_SHOWN_LENGTH) ?? null;
  return {
    at,
    verified: error === null,
    responseStatus: answer?.status ?? null,
    responseBody: answer === null ? null : Buffer.from(answer.body.subarray(0, RESPONSE_KEPT_BYTES)).toString('utf8'),
    error,
    exchange: { token, wanted, came },
  };
}

/** The answer without the endpoint's secrets, which a receiver may return. */
function shownAnswer({ answer }: Outcome, own: OwnHeaders | null): Outcome['answer'] {
  return answer === null || own === null || own.secrets.length === 0 ? answer : maskSecrets(answer, own.secrets);
}

/** The most challenges in one change of an endpoint. Each may last `CHALLENGE_TIMEOUT_MS`. */
const CHALLENGES_PER_CHANGE = 2;

/**
 * The challenge for one change of an endpoint. If another change is written first, this change is decided again, and a challenge
 * with the same settings is not repeated. With other settings it is sent once more; after that it throws 409.
 */
export function challengeOnce(challenge: ChallengeEndpoint, clock: Clock): ChallengeEndpoint {
  let asked: string | null = null;
  let answered: Verification | null = null;
  let challenges = 0;
  return async (endpoint) => {
    const wanted = whatIsAsked(endpoint, clock());
    if (answered !== null && asked === wanted) return answered;
    if (challenges === CHALLENGES_PER_CHANGE) {
      throw new Refusal('conflict', 'the endpoint was changed again and again while it was challenged: try once more');
    }
    challenges += 1;
    asked = wanted;
    answered = await challenge(endpoint);
    return answered;
  };
}

/** The settings that the outcome of a challenge depends on: the URL and the credentials. */
function whatIsAsked(endpoint: Endpoint, now: number): string {
  const { id, url, verification, clientCertificate, clientPrivateKey } = endpoint;
  const credentials = [signingSecret(endpoint, now), currentApiKey(endpoint, now), clientPrivateKey];
  const own = hasOwnHeaders(endpoint) ? ownHeaders(endpoint, now).headers : null;
  const sent = [endpoint.sendApiKey, own];
  return JSON.stringify([id, url, verification, clientCertificate, sent, ...credentials.map((one) => one?.reveal())]);
}

function problemOf(
  outcome: Outcome,
  challenge: { pathAndQuery: string; token: string; secret: string },
): string | null {
  const { answer } = outcome;
  if (answer === null) return outcome.ok ? 'no answer' : `${outcome.errorClass}: ${outcome.message}`;
  if (answer.status !== 200) return `the endpoint answered ${answer.status} instead of 200`;
  const verdict = verifyChallengeAnswer(challenge, answer.headers[challengeHeader]);
  return verdict.ok ? null : `${verdict.code}: ${verdict.description}`;
}
