/** The dead deliveries of webhooks, counted up to a bound. */
import type { WebhookState } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import type { Html } from '../../http/html.ts';
import type { Store } from '../../store/port/store.ts';
import { type ButtonKind, linkButton } from '../parts/header.ts';
import { countOf, countText } from '../parts/text.ts';

/** `isWhole` tells that there are no more. */
export type DeadRecords = { readonly records: number; readonly isWhole: boolean };

type Directory = Pick<Store, 'directory'>;

/** Batches in which they are counted: of one webhook, which takes one or two milliseconds, and of each of several. */
const BATCHES_COUNTED = 10_000;
const BATCHES_COUNTED_EACH = 1000;

export async function deadRecordsOf({ directory }: Directory, webhookNumber: number): Promise<DeadRecords> {
  return (await directory.deadRecords([webhookNumber], BATCHES_COUNTED)).get(webhookNumber) ?? NONE;
}

/** Those of each webhook, by its number. */
export async function deadOf(
  { directory }: Directory,
  webhookNumbers: readonly number[],
): Promise<(webhookNumber: number) => DeadRecords> {
  const counts = await directory.deadRecords(webhookNumbers, BATCHES_COUNTED_EACH);
  return (number) => counts.get(number) ?? NONE;
}

const NONE: DeadRecords = { records: 0, isWhole: true };

/** `1,204`, or `10,000+` if not all were counted. */
export function deadText({ records, isWhole }: DeadRecords): string {
  return `${countText(records)}${isWhole ? '' : '+'}`;
}

/** `kept for 90 days`, or `kept` if the setting deletes none. */
export function deadKept(days: number): string {
  return days === 0 ? 'kept' : `kept for ${countOf(days, 'day')}`;
}

/** `Send 10 again`, or `Start, and send 10 again` for a webhook that does not run. */
export function replayLabel(state: WebhookState, dead: DeadRecords): string {
  return `${isRunnable(state) ? 'Send' : 'Start, and send'} ${deadText(dead)} again`;
}

/** To the page that counts the dead deliveries of a webhook, asks, and sends them again. */
export function replayLink(
  { id, name, state }: { readonly id: string; readonly name: string; readonly state: WebhookState },
  dead: DeadRecords,
  kind: ButtonKind = 'plain',
): Html {
  const label = replayLabel(state, dead);
  return linkButton({
    href: `/deliveries/replay?webhook=${id}&state=dead`,
    label,
    longLabel: `${label}: ${name}`,
    kind,
    icon: 'replay',
  });
}
