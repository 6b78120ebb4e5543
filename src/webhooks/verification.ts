/** The token challenge (contract §5): proves that the receiver at an endpoint holds its secret. */

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
import { Refusal } from '../kernel/refusal.ts';
import { USER_AGENT } from '../kernel/version.ts';
import type { Transport } from '../outbound/transport.ts';
import { challengeAnswer, challengeBody, newChallengeToken, verifyChallengeAnswer } from '../wire/challenge.ts';
import { challengeHeader } from '../wire/challenge-answer.ts';
import { pathAndQuery } from '../wire/signature.ts';
import { CHALLENGE_ANSWER_SHOWN_LENGTH } from './limits.ts';

/** Time for an endpoint to answer its challenge. */
export const CHALLENGE_TIMEOUT_MS = 10_000;

export type ChallengeEndpoint = (endpoint: Endpoint) => Promise<Verification>;

type Dependencies = { readonly transport: Transport; readonly clock: Clock; readonly random: Random };

/**
 * Sends one challenge. The result tells what went wrong. Throws 503 if the service stops before the answer or cannot make the request,
 * because that says nothing about the endpoint.
 */
export function createChallenge({ transport, clock, random }: Dependencies): ChallengeEndpoint {
  return async (endpoint) => {
    const url = new URL(endpoint.url);
    const token = newChallengeToken(random);
    const at = clock();
    const secret = signingSecret(endpoint, at).reveal();
    const own = hasOwnHeaders(endpoint) ? ownHeaders(endpoint, at) : null;
    const outcome = await transport.post({
      url,
      customerId: endpoint.customerId,
      headers: {
        'content-type': 'application/json',
        'user-agent': USER_AGENT,
        ...(endpoint.sendApiKey && { 'x-api-key': currentApiKey(endpoint, at).reveal() }),
        ...own?.headers,
        [challengeHeader]: token,
      },
      body: Buffer.from(challengeBody(endpoint.id)),
      // Status and headers decide; the body is only shown.
      headDecides: true,
      timeoutMs: CHALLENGE_TIMEOUT_MS,
      clientCertificate: clientCertificateOf(endpoint),
    });
    if (!outcome.ok && outcome.errorClass === 'internal') {
      throw new Refusal('unavailable', `the endpoint was not verified: ${outcome.message}`);
    }
    const challenge = { pathAndQuery: pathAndQuery(url), token, secret };
    const error = problemOf(outcome, challenge);
    const answer = shownAnswer(outcome, own);
    const came = answer?.headers[challengeHeader]?.slice(0, CHALLENGE_ANSWER_SHOWN_LENGTH) ?? null;
    return {
      at,
      verified: error === null,
      responseStatus: answer?.status ?? null,
      responseBody: answer === null ? null : Buffer.from(answer.body.subarray(0, RESPONSE_KEPT_BYTES)).toString('utf8'),
      error,
      exchange: { token, wanted: challengeAnswer(challenge), came },
    };
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
  const { id, url, clientCertificate, clientPrivateKey } = endpoint;
  const credentials = [signingSecret(endpoint, now), currentApiKey(endpoint, now), clientPrivateKey];
  const own = hasOwnHeaders(endpoint) ? ownHeaders(endpoint, now).headers : null;
  const sent = [endpoint.sendApiKey, own];
  return JSON.stringify([id, url, clientCertificate, sent, ...credentials.map((one) => one?.reveal())]);
}

function problemOf(
  outcome: Outcome,
  challenge: { pathAndQuery: string; token: string; secret: string },
): string | null {
  const { answer } = outcome;
  if (answer === null) return outcome.ok ? 'no answer' : `${outcome.errorClass}: ${outcome.message}`;
  if (answer.status !== 200) return `the endpoint answered ${answer.status}, wanted 200`;
  const verdict = verifyChallengeAnswer(challenge, answer.headers[challengeHeader]);
  return verdict.ok ? null : `${verdict.code}: ${verdict.description}`;
}
