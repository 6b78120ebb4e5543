/** The latest deliveries on the page of a webhook and of an endpoint: the state, the event, the response and the time of each. */
import type { AttemptRecord } from '../../domain/batch.ts';
import type { Delivery } from '../../domain/webhook.ts';
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
export type LatestDeliveries = readonly Latest[];

/**
 * The deliveries of the last attempts; if these are few, the newest ones too. While a receiver fails, the newest ones only wait behind
 * older ones.
 */
export async function readLatestDeliveries(
  { deliveries, attempts }: Pick<Store, 'deliveries' | 'attempts'>,
  webhookNumbers: readonly number[],
): Promise<LatestDeliveries> {
  const numbers = webhookNumbers.slice(0, WEBHOOKS_READ);
  const [first = 0] = numbers;
  const recent = await (numbers.length === 1
    ? attempts.latestOf(first, ATTEMPTS_READ)
    : attempts.latest(ATTEMPTS_READ, null, numbers));
  const tried = await deliveries.atPlaces(placesOf(recent));
  const found = new Map(tried.flatMap((delivery) => (delivery === null ? [] : [[delivery.id, delivery] as const])));
  if (found.size < SHOWN) {
    const { items } = await deliveries.list({ webhookNumbers: numbers }, null, SHOWN);
    for (const delivery of items) if (found.size < SHOWN) found.set(delivery.id, delivery);
  }
  const all = [...found.values()];
  const last = await attempts.lastOf(all);
  const latest = all.map((delivery, at) => ({ delivery, attempt: last[at] ?? null }));
  return latest.toSorted(
    ({ delivery: one }, { delivery: other }) => other.createdAt - one.createdAt || other.offset - one.offset,
  );
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
  return [latest, latest.map(({ delivery }) => isDue(delivery, now))];
}

/** `isPulled`: a reader fetches them, so there are no attempts. */
type Telling = { readonly now: number; readonly isPulled: boolean };

/** `webhookIds`: those whose deliveries they are. Each row names its webhook if there are several. */
export function latestSection(
  latest: LatestDeliveries,
  webhookIds: readonly string[],
  { now, isPulled }: Telling,
): Html {
  const [first] = webhookIds;
  const isOne = webhookIds.length === 1;
  const ofOne = isOne && first !== undefined ? `?webhook=${first}` : '';
  return section({
    title: 'Latest deliveries',
    id: 'deliveries',
    isPlain: true,
    actions: isOne
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
      : [],
    content: html`
      <div class="latest">
        ${table({
          caption: 'Latest deliveries',
          columns: [
            { label: 'State', phone: 'state' },
            { label: 'Event', kind: 'main' },
            { label: 'Subject', phone: 'plain' },
            ...(isOne ? [] : [{ label: 'Webhook', phone: 'plain' as const }]),
            { label: 'Response', phone: 'plain' },
            { label: 'Outcome', phone: 'plain' },
            { label: 'Published', phone: 'plain' },
          ],
          rows: latest.map((one) => row(one, { isOne, now })),
          rowIds: latest.map(({ delivery }) => `delivery-${delivery.id}`),
          live: ['delivery', 'deliveries'],
          empty: NOTHING_YET,
        })}
      </div>
    `,
  });
}

const NOTHING_YET = emptyState({
  title: 'No deliveries yet',
  text: 'Each event of the chosen types will be listed here.',
});

function row({ delivery, attempt }: Latest, { isOne, now }: { readonly isOne: boolean; readonly now: number }): Html[] {
  const { subject, createdAt, webhookId, webhookName } = delivery;
  return [
    deliveryBadge(delivery),
    eventCell(delivery),
    subjectCell(subject),
    ...(isOne ? [] : [html`<a class="plain-link" href="/webhooks/${webhookId}">${webhookName}</a>`]),
    responseCell(delivery, attempt),
    progressOf(delivery, now),
    shortTime(createdAt),
  ];
}
