/** The latest deliveries on the page of a webhook and of an endpoint: the state, the event, the response and the time of each. */
import type { AttemptRecord } from '../../domain/batch.ts';
import type { Delivery } from '../../domain/webhook.ts';
import { isUnhealthy } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { LastAttempt, RecordPlace } from '../../store/port/deliveries.ts';
import type { Store } from '../../store/port/store.ts';
import { linkButton, section } from '../parts/header.ts';
import { emptyState, table } from '../parts/list.ts';
import { shortTime } from '../parts/text.ts';
import { deliveryBadge, eventCell, isDue, progressOf, responseCell, subjectCell } from './delivery-rows.ts';
import { DELIVERIES_PATH } from './delivery-tabs.ts';

/** Rows, attempts that they are found by, and webhooks that they are read of. */
const SHOWN = 10;
const ATTEMPTS_READ = 30;
const WEBHOOKS_READ = 100;

type Latest = {
  readonly delivery: Delivery;
  /** Null: not tried yet. */
  readonly attempt: LastAttempt | null;
};
/** Newest first, as the list of all has them. */
export type LatestDeliveries = {
  readonly rows: readonly Latest[];
  /** Why newer ones are held back, if these are the deliveries of the last attempts. */
  readonly heldBack: string | null;
};

/** The newest deliveries. While a receiver fails, these only wait, so the deliveries of the last attempts are read in their place. */
export async function readLatestDeliveries(
  { deliveries, attempts }: Pick<Store, 'deliveries' | 'attempts'>,
  webhookNumbers: readonly number[],
): Promise<LatestDeliveries> {
  const numbers = webhookNumbers.slice(0, WEBHOOKS_READ);
  const { items: newest } = await deliveries.list({ webhookNumbers: numbers }, null, SHOWN);
  const tried = newest.some(isHeldBack) ? await readTried({ deliveries, attempts }, numbers) : [];
  const all = tried.length > 0 ? tried : newest;
  const last = await attempts.lastOf(all);
  const rows = all
    .map((delivery, at) => ({ delivery, attempt: last[at] ?? null }))
    .toSorted(({ delivery: one }, { delivery: other }) => other.createdAt - one.createdAt || other.offset - one.offset);
  return { rows, heldBack: tried.length > 0 ? heldBackText(newest.filter(isHeldBack), numbers.length > 1) : null };
}

/** With the ids of their webhooks. */
export type CustomersDeliveries = LatestDeliveries & { readonly webhookIds: readonly string[] };

/** Of the newest webhooks of the customer of the store. Null without a webhook. */
export async function readCustomersDeliveries(
  store: Pick<Store, 'directory' | 'deliveries' | 'attempts'>,
): Promise<CustomersDeliveries | null> {
  const webhooks = (await store.directory.webhooks({}, null, WEBHOOKS_READ)).map(({ webhook }) => webhook);
  if (webhooks.length === 0) return null;
  const numbers = webhooks.map(({ progress }) => progress.webhookNumber);
  return { ...(await readLatestDeliveries(store, numbers)), webhookIds: webhooks.map(({ id }) => id) };
}

/** A failing webhook tries one request at a time, a failed one none. */
function heldBackText(held: readonly Delivery[], isOfSeveral: boolean): string {
  const failed = held.filter(({ webhookState }) => webhookState === 'failed').length;
  if (isOfSeveral) {
    if (failed === 0) return 'Newer deliveries of failing webhooks are held back until one of them succeeds.';
    if (failed === held.length) return 'Newer deliveries of failed webhooks wait until you start them.';
    return 'Newer deliveries of failing webhooks wait until one succeeds, those of failed webhooks until you start them.';
  }
  if (failed === 0) return 'Newer deliveries are held back until one of these succeeds.';
  if (failed === held.length) return 'Newer deliveries wait until you start the webhook.';
  return 'Newer deliveries wait until one of these succeeds, or you start the webhook.';
}

/** Whether it was not tried yet because its webhook fails or has failed. */
function isHeldBack({ state, attemptCount, webhookState }: Delivery): boolean {
  return state === 'pending' && attemptCount === 0 && isUnhealthy(webhookState);
}

async function readTried(
  { deliveries, attempts }: Pick<Store, 'deliveries' | 'attempts'>,
  numbers: readonly number[],
): Promise<Delivery[]> {
  const [first = 0] = numbers;
  const recent = await (numbers.length === 1
    ? attempts.latestOf(first, ATTEMPTS_READ)
    : attempts.latest(ATTEMPTS_READ, null, numbers));
  const tried = await deliveries.atPlaces(placesOf(recent));
  return tried.filter((delivery) => delivery !== null);
}

/** The records of attempts, each once. */
function placesOf(attempts: readonly AttemptRecord[]): RecordPlace[] {
  const places = new Map<string, RecordPlace>();
  for (const { webhookNumber, firstOffset, lastOffset } of attempts) {
    if (firstOffset === null || lastOffset === null) continue;
    for (let offset = lastOffset; offset >= firstOffset && places.size < SHOWN; offset -= 1)
      places.set(`${webhookNumber} ${offset}`, { webhookNumber, offset });
  }
  return [...places.values()];
}

/** For the version of a live page: what its rows say, of which some changes with the time. */
export function latestVersion(latest: LatestDeliveries, now: number): unknown {
  return [latest, latest.rows.map(({ delivery }) => isDue(delivery, now))];
}

/** `isPulled`: a reader fetches them, so there are no attempts. */
type Telling = {
  readonly now: number;
  readonly isPulled: boolean;
  /** In place of those of one webhook. */
  readonly actions?: readonly (Html | null)[];
  /** The button of a row, if something can be done about it. */
  readonly actionOf?: (delivery: Delivery) => Html | null;
};

/** `webhookIds`: those whose deliveries they are. Each row names its webhook if there are several. */
export function latestSection(
  { rows, heldBack }: LatestDeliveries,
  webhookIds: readonly string[],
  { now, isPulled, actions, actionOf = () => null }: Telling,
): Html {
  const [first] = webhookIds;
  const isOne = webhookIds.length === 1;
  const ofOne = isOne && first !== undefined ? `?webhook=${first}` : '';
  return section({
    title: heldBack === null ? 'Latest deliveries' : 'Deliveries tried last',
    id: 'deliveries',
    lead: heldBack ?? undefined,
    isPlain: true,
    actions:
      actions ??
      (isOne
        ? [
            isPulled
              ? null
              : linkButton({
                  href: `${DELIVERIES_PATH}/watch${ofOne}`,
                  label: 'Watch live',
                  icon: 'play',
                  kind: 'quiet',
                }),
            linkButton({ href: `${DELIVERIES_PATH}${ofOne}`, label: 'All deliveries' }),
          ]
        : []),
    content: html`
      <div class="${isOne ? 'latest' : 'latest has-webhooks'}">
        ${latestTable(rows, { hasWebhooks: !isOne, actionOf, now })}
      </div>
    `,
  });
}

const NOTHING_YET = emptyState({
  title: 'No deliveries yet',
  text: 'Each event of the chosen types will be listed here.',
});

type Columns = Required<Pick<Telling, 'now' | 'actionOf'>> & { readonly hasWebhooks: boolean };

/** A line for each delivery. */
function latestTable(rows: readonly Latest[], { hasWebhooks, actionOf, now }: Columns): Html {
  const actions = rows.map(({ delivery }) => actionOf(delivery));
  const hasActions = actions.some((action) => action !== null);
  return table({
    caption: 'Latest deliveries',
    columns: [
      { label: 'State', phone: 'state' },
      { label: 'Event', kind: 'main' },
      { label: 'Subject', phone: 'plain' },
      ...(hasWebhooks ? [{ label: 'Webhook', phone: 'plain' as const }] : []),
      { label: 'Response', phone: 'plain' },
      { label: 'Outcome', phone: 'plain' },
      { label: 'Published', phone: 'plain' },
      ...(hasActions ? [{ label: 'Actions', kind: 'actions' as const }] : []),
    ],
    rows: rows.map(({ delivery, attempt }, at) => {
      const { subject, createdAt, webhookId, webhookName } = delivery;
      return [
        deliveryBadge(delivery),
        eventCell(delivery),
        subjectCell(subject),
        ...(hasWebhooks ? [html`<a class="plain-link" href="/webhooks/${webhookId}">${webhookName}</a>`] : []),
        responseCell(delivery, attempt),
        progressOf(delivery, now),
        shortTime(createdAt),
        ...(hasActions ? [actions[at] ?? null] : []),
      ];
    }),
    rowIds: rows.map(({ delivery }) => `delivery-${delivery.id}`),
    live: ['delivery', 'deliveries'],
    empty: NOTHING_YET,
  });
}
