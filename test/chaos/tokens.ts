/** Clients of the kill test: they get tokens at one instance, try them at another, and revoke most of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FirstCredentials } from '../../src/data/data.ts';
import { EDGE, tokenFor } from '../support/client.ts';
import { ANSWERED_WITHIN_MS, unanswered } from './answers.ts';
import type { Sequence, TokenLife } from './history.ts';

export type TokenClients = {
  readonly tokens: readonly TokenLife[];
  /** Works until `signal` ends it. */
  workUntil(signal: AbortSignal): Promise<void>;
  /** Tries every token again whose life was not over at the last time. */
  tryAll(): Promise<void>;
  /** Requests that were never answered. */
  readonly faults: readonly string[];
};

/** Tokens that nobody revokes: each is tried again every time. */
const KEPT_MAX = 30;
const PAUSE_MS = 100;

type Life = { -readonly [Name in keyof TokenLife]: TokenLife[Name] } & { readonly token: string };

/** `urlOf` gives an instance. `next` gives the place in the history. */
export function createTokenClients(
  credentials: FirstCredentials,
  { urlOf, next, random }: { urlOf(): string; next(): Sequence; random(): number },
): TokenClients {
  const lives: Life[] = [];
  const faults: string[] = [];
  let open: Life[] = [];

  const tryAt = async (url: string, life: Life): Promise<void> => {
    const askedAt = next();
    const response = await fetch(`${url}${EDGE}/event-types?limit=1`, {
      headers: { authorization: `Bearer ${life.token}` },
      signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
    }).catch(unanswered('trying a token', faults));
    await response?.arrayBuffer().catch(() => undefined);
    if (response?.status === 200 || response?.status === 401)
      life.tries = [...life.tries, { askedAt, answeredAt: next(), passed: response.status === 200 }];
  };
  const revokeAt = async (url: string, life: Life): Promise<boolean> => {
    life.revocationAskedAt ??= next();
    const { clientId, clientSecret } = credentials;
    const response = await fetch(`${url}/services/api/oauth2/revoke`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
      body: new URLSearchParams({ token: life.token }),
      signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
    }).catch(unanswered('revoking a token', faults));
    await response?.arrayBuffer().catch(() => undefined);
    if (response?.status === 200) life.revokedAt = next();
    return life.revokedAt !== null;
  };
  const live = async (signal: AbortSignal): Promise<void> => {
    const token = await tokenFor(urlOf(), credentials).catch(() => null);
    if (token === null) return;
    const life: Life = { token, revocationAskedAt: null, revokedAt: null, tries: [] };
    lives.push(life);
    open.push(life);
    await tryAt(urlOf(), life);
    const isKept =
      open.filter(({ revocationAskedAt }) => revocationAskedAt === null).length <= KEPT_MAX && random() < 0.2;
    if (isKept) return;
    // A revocation that was not confirmed is asked for again, at any instance.
    while (!signal.aborted && !(await revokeAt(urlOf(), life))) await sleep(PAUSE_MS);
    await tryAt(urlOf(), life);
  };

  return {
    tokens: lives,
    faults,
    workUntil: async (signal) => {
      while (!signal.aborted) {
        await live(signal);
        await sleep(PAUSE_MS);
      }
    },
    tryAll: async () => {
      const tried = open;
      open = tried.filter(({ revocationAskedAt, revokedAt }) => revocationAskedAt === null || revokedAt === null);
      for (const life of tried) await tryAt(urlOf(), life);
    },
  };
}
