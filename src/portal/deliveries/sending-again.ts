/** Messages after deliveries were sent again: they are on their way, or they wait for a webhook that does not run. */
import type { Delivery, Progress, WebhookState } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { FailureGroup } from '../../store/port/deliveries.ts';
import type { Store } from '../../store/port/store.ts';
import type { Flash } from '../frame/cookie-values.ts';
import { countOf, shortTime } from '../parts/text.ts';
import { replayLabel } from '../record/dead-records.ts';
import { readOwners } from '../record/owner.ts';
import { DELIVERIES_PATH } from './delivery-tabs.ts';

/** The deliveries of one webhook that were sent again. */
export type SentAgain = Pick<Delivery, 'webhookId' | 'webhookName' | 'webhookState'> & { readonly count: number };

/** Says it with the names that tell webhooks of several customers apart. */
export async function toldSentAgain(store: Store, sent: readonly SentAgain[]): Promise<Flash> {
  const ids = sent.map(({ webhookId }) => webhookId);
  const { named } = await readOwners(store, 'webhook', ids);
  return sentAgainFlash(
    sent.map((one) => ({ ...one, webhookName: named({ id: one.webhookId, name: one.webhookName }) })),
  );
}

export function sentAgainFlash(sent: readonly SentAgain[]): Flash {
  const waiting = sent.filter(({ webhookState }) => !isRunnable(webhookState));
  const going = countAll(sent) - countAll(waiting);
  const sending = going === 0 ? '' : `Sending ${deliveries(going)} again.`;
  const [first, ...others] = waiting;
  if (first === undefined) return { tone: 'positive', text: sending };
  const why =
    others.length === 0 ? `${first.webhookName} ${notRunning(first.webhookState)}` : 'their webhooks do not run';
  const count = countAll(waiting);
  const wait = `${deliveries(count)} ${count === 1 ? 'waits' : 'wait'}: ${why}.`;
  return {
    tone: 'caution',
    text: sending === '' ? wait : `${sending} ${wait}`,
    ...(others.length === 0 && {
      link: { href: `/webhooks/${first.webhookId}`, label: `Go to ${first.webhookName} to start it` },
    }),
  };
}

/** The page that counts the dead deliveries of a cause, and asks first. */
export function replayHref(webhookId: string, cause: string): string {
  return `${DELIVERIES_PATH}/replay?${new URLSearchParams({ webhook: webhookId, state: 'dead', cause })}`;
}

/** The label of the link to it. */
export function replayGroupLabel({ webhookState, dead }: Pick<FailureGroup, 'webhookState' | 'dead'>): string {
  return replayLabel(webhookState, { records: dead, isWhole: true });
}

/** `is stopped` or `has failed`, after the name of a webhook that does not run. */
export function notRunning(webhookState: WebhookState): string {
  return webhookState === 'failed' ? 'has failed' : 'is stopped';
}

/** `has sent nothing since 14:07`, after the name of a webhook that does not run. */
export function silence({ state, stateReason, stateAt }: Pick<Progress, 'state' | 'stateReason' | 'stateAt'>): Html {
  return state === 'stopped' && stateReason === null
    ? html`has not been started yet`
    : html`has sent nothing since ${shortTime(stateAt)}`;
}

function countAll(sent: readonly SentAgain[]): number {
  return sent.reduce((sum, { count }) => sum + count, 0);
}

function deliveries(count: number): string {
  return countOf(count, 'delivery', undefined, 'deliveries');
}
