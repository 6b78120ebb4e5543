/** Why the deliveries of webhooks fail: read in one way and told in the same words on every page. */
import {
  adviceForMessage,
  adviceForOwner,
  type ErrorClass,
  failureCause,
  statusInMessage,
} from '../../domain/outcome.ts';
import { GIVEN_UP_FOR } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { http } from '../../kernel/node-http.ts';
import type { FailureGroup } from '../../store/port/deliveries.ts';
import type { Store } from '../../store/port/store.ts';
import { errorWords } from '../parts/error-words.ts';
import { countOf, countText, sentence, shortTime } from '../parts/text.ts';

/** Deliveries of one webhook whose last attempt failed in the same way. */
export type Cause = Pick<FailureGroup, 'cause' | 'dead' | 'retrying' | 'firstAt' | 'lastAt'>;

/** The class and the message of the newest error of a webhook; null: none is known. */
export type LatestError = readonly [errorClass: string, message: string | null] | null;

/** The causes of each webhook by its id. */
export async function readCausesOf(
  { deliveries }: Pick<Store, 'deliveries'>,
  webhookNumbers: readonly number[],
): Promise<(webhookId: string) => readonly FailureGroup[]> {
  const { groups } = webhookNumbers.length === 0 ? { groups: [] } : await deliveries.failures(webhookNumbers);
  const byWebhook = Map.groupBy(groups, ({ webhookId }) => webhookId);
  return (webhookId) => byWebhook.get(webhookId) ?? [];
}

/** Dead deliveries, or pending ones that were tried. */
type Counted = 'dead' | 'retrying';

/** The causes that have such deliveries, the most frequent first. */
export function byFrequency<C extends Pick<Cause, Counted | 'lastAt'>>(causes: readonly C[], counted: Counted): C[] {
  return causes
    .filter((cause) => cause[counted] > 0)
    .toSorted((a, b) => b[counted] - a[counted] || b.lastAt - a.lastAt);
}

/** The causes of several webhooks together. */
export function mergedCauses(causes: readonly Cause[]): Cause[] {
  return [...Map.groupBy(causes, ({ cause }) => cause)].map(([cause, same]) => ({
    cause,
    dead: sumOf(same, 'dead'),
    retrying: sumOf(same, 'retrying'),
    firstAt: Math.min(...same.map(({ firstAt }) => firstAt)),
    lastAt: Math.max(...same.map(({ lastAt }) => lastAt)),
  }));
}

/** How many such deliveries the causes have together. */
export function sumOf(causes: readonly Pick<Cause, Counted>[], counted: Counted): number {
  return causes.reduce((sum, cause) => sum + cause[counted], 0);
}

/** `503 Service Unavailable`, or the error class in words. */
export function causeText(cause: string): string {
  const reason = http.STATUS_CODES[cause];
  return reason === undefined ? errorWords(cause) : `${cause} ${reason}`;
}

/** The advice for a cause. `reader`: the customer who reads it; null: the operator, whose advice may name a setting. */
export function causeAdvice(cause: string, reader: string | null): string {
  return /^\d+$/.test(cause)
    ? adviceForOwner(reader, 'http_status', Number(cause))
    : adviceForOwner(reader, cause as ErrorClass);
}

/**
 * Why a failing webhook fails, if the latest error does not tell all: the most frequent cause and the newest one, as a sentence. A single
 * attempt does not turn the diagnosis over. Null: the latest error is that of all deliveries that were tried.
 */
export function failingCauses(causes: readonly Cause[], latest: LatestError): Html | null {
  const tried = byFrequency(causes, 'retrying');
  const [main, ...others] = tried;
  if (main === undefined) return null;
  if (others.length === 0) return isOf(latest, main) ? null : html`${sentence(causeText(main.cause))}`;
  const share = `${countText(main.retrying)} of ${countText(sumOf(tried, 'retrying'))} tried deliveries`;
  return mostOften(main, others, share);
}

/** Why deliveries are dead, if there are several causes: the most frequent one and the newest one, as a sentence. */
export function deadCauses(causes: readonly Cause[]): Html | null {
  const [main, ...others] = byFrequency(causes, 'dead');
  if (main === undefined || others.length === 0) return null;
  return mostOften(main, others, countOf(main.dead, 'delivery', undefined, 'deliveries'));
}

function mostOften(main: Cause, others: readonly Cause[], share: string): Html {
  const newest = others.toSorted((a, b) => b.lastAt - a.lastAt)[0] ?? main;
  const begun = newest.firstAt > main.firstAt ? html`since ${shortTime(newest.firstAt)} also` : html`also`;
  const more = others.length > 1 ? html`, and other causes` : null;
  return html`Most often ${causeText(main.cause)} (${share}), ${begun} ${causeText(newest.cause)}${more}.`;
}

/** The advice for a failing webhook: for the most frequent cause, which the latest error need not have. */
export function failingAdvice(causes: readonly Cause[], latest: LatestError, reader: string | null): string | null {
  const [main] = byFrequency(causes, 'retrying');
  if (main !== undefined && !isOf(latest, main)) return causeAdvice(main.cause, reader);
  return latest === null ? null : adviceForMessage(reader, ...latest);
}

/** The cause that `failingAdvice` is about; null if none is known. */
export function advisedCause(causes: readonly Cause[], latest: LatestError): string | null {
  const [main] = byFrequency(causes, 'retrying');
  if (main !== undefined) return main.cause;
  return latest === null ? null : causeOf(latest);
}

export type NamedEndpoint = { readonly id: string; readonly name: string };

/** Whether the receiver or its token server rejects the credentials. */
export function isOfCredentials(cause: string): boolean {
  return ['401', '403', 'oauth_token'].includes(cause);
}

/** A link to the credentials of the endpoint, if the receiver or its token server rejects them. */
export function credentialsLink(cause: string | null, endpoint: NamedEndpoint | null): Html | null {
  if (endpoint === null || cause === null || !isOfCredentials(cause)) return null;
  const { id, name } = endpoint;
  return html`<a href="/endpoints/${id}/settings#credentials">Credentials of ${name}</a>`;
}

/** The same for an attempt. */
export function credentialsOf(
  { errorClass, responseStatus }: { readonly errorClass: string | null; readonly responseStatus: number | null },
  endpoint: NamedEndpoint | null,
): Html | null {
  return credentialsLink(failureCause(errorClass, responseStatus), endpoint);
}

/** Why the service gave a webhook up: `Ten requests in a row used up their attempts: 401 Unauthorized.`, and what helps. */
export type GivenUp = { readonly why: string; readonly advice: string; readonly cause: string };

/** Follows the advice. `mayAct`: whether the reader may start webhooks. */
export function thenTest(mayAct: boolean): string {
  return mayAct ? 'Then send a test event before you start the webhook again.' : 'Then an operator can start it again.';
}

/** Null for another reason, or if no cause is known. */
export function givenUpFor(reason: string | null, causes: readonly Cause[], reader: string | null): GivenUp | null {
  if (reason !== 'too_many_dead' && reason !== 'failing_too_long') return null;
  const [main, ...others] = byFrequency(causes, reason === 'too_many_dead' ? 'dead' : 'retrying');
  if (main === undefined) return null;
  const { cause } = main;
  return {
    why: `${GIVEN_UP_FOR[reason]}: ${others.length === 0 ? '' : 'most often '}${causeText(cause)}.`,
    advice: causeAdvice(cause, reader),
    cause,
  };
}

function isOf(latest: LatestError, { cause }: Cause): boolean {
  return latest !== null && cause === causeOf(latest);
}

/** The cause of an error, as the failures are grouped by it. */
function causeOf([errorClass, message]: NonNullable<LatestError>): string {
  return failureCause(errorClass, statusInMessage(message));
}
