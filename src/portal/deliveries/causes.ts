/** Why the deliveries of a webhook fail: read in one way and told in the same words on every page. */
import { adviceForMessage, adviceForOwner, type ErrorClass, statusInMessage } from '../../domain/outcome.ts';
import { type Html, html } from '../../http/html.ts';
import { http } from '../../kernel/node-http.ts';
import type { FailureGroup } from '../../store/port/deliveries.ts';
import type { Store } from '../../store/port/store.ts';
import { errorWords } from '../parts/error-words.ts';
import { countText, sentence, shortTime } from '../parts/text.ts';

/** Deliveries of one webhook whose last attempt failed in the same way. */
export type Cause = Pick<FailureGroup, 'cause' | 'dead' | 'retrying' | 'firstAt' | 'lastAt'>;

/** The class and the message of the newest error of a webhook; null: none is known. */
export type LatestError = readonly [errorClass: string, message: string | null] | null;

/** The causes of each webhook by its id, the most frequent first. Those of pending deliveries come before those of dead ones. */
export async function readCausesOf(
  { deliveries }: Pick<Store, 'deliveries'>,
  webhookNumbers: readonly number[],
): Promise<(webhookId: string) => readonly Cause[]> {
  const { groups } = webhookNumbers.length === 0 ? { groups: [] } : await deliveries.failures(webhookNumbers);
  const byWebhook = Map.groupBy(groups, ({ webhookId }) => webhookId);
  return (webhookId) =>
    (byWebhook.get(webhookId) ?? []).toSorted(
      (a, b) => b.retrying - a.retrying || b.dead - a.dead || b.lastAt - a.lastAt,
    );
}

/** `503 Service Unavailable`, or the error class in words. */
export function causeText(cause: string): string {
  const reason = http.STATUS_CODES[cause];
  return reason === undefined ? errorWords(cause) : `${cause} ${reason}`;
}

/** The advice for a cause. The operator's own endpoint may need a setting. */
export function causeAdvice(cause: string, customerId: string | null): string {
  return /^\d+$/.test(cause)
    ? adviceForOwner(customerId, 'http_status', Number(cause))
    : adviceForOwner(customerId, cause as ErrorClass);
}

/**
 * Why a failing webhook fails, if the latest error does not tell all: the most frequent cause and the newest one, as a sentence. A single
 * attempt does not turn the diagnosis over. Null: the latest error is that of all deliveries that were tried.
 */
export function failingCauses(causes: readonly Cause[], latest: LatestError): Html | null {
  const tried = causes.filter(({ retrying }) => retrying > 0);
  const [main, ...others] = tried;
  if (main === undefined || (others.length === 0 && isOf(latest, main))) return null;
  const newest = others.toSorted((a, b) => b.lastAt - a.lastAt)[0];
  if (newest === undefined) return html`${sentence(causeText(main.cause))}`;
  const all = tried.reduce((sum, { retrying }) => sum + retrying, 0);
  const begun = newest.firstAt > main.firstAt ? html`since ${shortTime(newest.firstAt)} also` : html`also`;
  const more = others.length > 1 ? html`, and other causes` : null;
  return html`
    Mostly ${causeText(main.cause)} (${countText(main.retrying)} of ${countText(all)} tried
    deliveries), ${begun} ${causeText(newest.cause)}${more}.
  `;
}

/** The advice for the most frequent cause. */
export function failingAdvice(causes: readonly Cause[], latest: LatestError, customerId: string | null): string | null {
  const main = causes.find(({ retrying }) => retrying > 0);
  if (main !== undefined && !isOf(latest, main)) return causeAdvice(main.cause, customerId);
  return latest === null ? null : adviceForMessage(customerId, ...latest);
}

function isOf(latest: LatestError, { cause }: Cause): boolean {
  if (latest === null) return false;
  const [errorClass, message] = latest;
  return cause === (errorClass === 'http_status' ? String(statusInMessage(message)) : errorClass);
}
