/** Tests the OAuth settings of an endpoint: requests one token, stores nothing, and reports the result. */

import type { Clock } from '../kernel/ids.ts';
import { RESPONSE_KEPT_BYTES } from '../kernel/limits/limits.ts';
import { Refusal } from '../kernel/refusal.ts';
import { isObject } from '../kernel/validation.ts';
import { adviceFor, type Timings } from '../outbound/outcome.ts';
import type { Transport } from '../outbound/transport.ts';
import type { Administration } from '../resources/administration.ts';
import type { Endpoint } from '../webhooks/endpoint.ts';
import { parseJson, requestToken } from './oauth.ts';

export type OauthTest = {
  readonly at: number;
  /** The server issued a usable token. It is neither stored nor shown. */
  readonly issued: boolean;
  /** Null without a response. */
  readonly responseStatus: number | null;
  /** The first 4 KiB, tokens masked. */
  readonly responseBody: string | null;
  /** The members of the response (RFC 6749 §5.1), as sent. */
  readonly tokenType: string | null;
  readonly expiresIn: string | null;
  readonly scope: string | null;
  readonly error: string | null;
  /** What to do about the error. */
  readonly advice: string | null;
  readonly timings: Timings;
};

/** Throws 404 for an unknown endpoint and 409 for one without OAuth settings. */
export type TestOauth = (endpointId: string) => Promise<OauthTest>;

type Dependencies = {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly endpoints: Pick<Administration<Endpoint>, 'get'>;
};

export function createTestOauth({ transport, clock, endpoints }: Dependencies): TestOauth {
  return async (endpointId) => {
    const endpoint = await endpoints.get(endpointId);
    if (endpoint.oauthTokenUrl === null) throw new Refusal('invalid_state', 'the endpoint has no OAuth settings');
    const at = clock();
    const reply = await requestToken(transport, endpoint);
    const { outcome } = reply;
    const { answer, timings } = outcome;
    const json = answer === null ? undefined : parseJson(answer.body);
    const member = (name: string): string | null => {
      const value = isObject(json) ? json[name] : undefined;
      return typeof value === 'string' || typeof value === 'number'
        ? String(value).slice(0, MEMBER_SHOWN_LENGTH)
        : null;
    };
    return {
      at,
      issued: reply.ok,
      responseStatus: answer?.status ?? null,
      responseBody: answer === null ? null : Buffer.from(answer.body.subarray(0, RESPONSE_KEPT_BYTES)).toString('utf8'),
      tokenType: member('token_type'),
      expiresIn: member('expires_in'),
      scope: member('scope'),
      error: reply.ok ? null : reply.problem,
      // What keeps a connection from standing is not in the settings that the advice for tokens speaks of.
      advice: reply.ok
        ? null
        : adviceFor(outcome.ok || outcome.errorClass === 'http_status' ? 'oauth_token' : outcome.errorClass),
      timings,
    };
  };
}

const MEMBER_SHOWN_LENGTH = 500;
