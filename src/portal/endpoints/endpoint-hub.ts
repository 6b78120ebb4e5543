/** What goes to an endpoint, on its page: a chart over all webhooks that send there, their last attempts and their latest deliveries. */

import type { AttemptRecord } from '../../domain/batch.ts';
import type { Delivery } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import type { Series } from '../../observe/figures.ts';
import type { EndpointWebhook } from '../../store/port/directory.ts';
import { type CarriedBy, readCarried } from '../deliveries/carried.ts';
import { attemptList } from '../deliveries/live-pages.ts';
import type { PageCall } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { readPeriod } from '../frame/query.ts';
import { periodTabs, throughputCharts } from '../parts/chart.ts';
import { linkButton, section } from '../parts/header.ts';
import { table } from '../parts/list.ts';
import { stateBadge } from '../parts/mark.ts';
import { relativeTime } from '../parts/text.ts';

/** Rows of each list, and the webhooks that they are read of. */
const SHOWN = 5;
const WEBHOOKS_READ = 100;

export type EndpointHub = {
  readonly series: Series;
  readonly attempts: readonly AttemptRecord[];
  readonly deliveries: readonly Delivery[];
  readonly carried: CarriedBy;
};

/** Null if no webhook sends to the endpoint. */
export async function readHub(
  { store, figures }: Pick<SharedPageDependencies, 'store' | 'figures'>,
  query: URLSearchParams,
  webhooks: readonly EndpointWebhook[],
): Promise<EndpointHub | null> {
  if (webhooks.length === 0) return null;
  const numbers = webhooks.map(({ webhookNumber }) => webhookNumber);
  const some = numbers.slice(0, WEBHOOKS_READ);
  const [series, attempts, deliveries] = await Promise.all([
    figures.within(async () => numbers).series(readPeriod(query), 0),
    store.attempts.latest(SHOWN, null, some),
    store.deliveries.list({ webhookNumbers: some }, null, SHOWN),
  ]);
  return { series, attempts, deliveries: deliveries.items, carried: await readCarried(store, attempts) };
}

/** The page must set `hasCharts: true` and have `period` in its URL. */
export function hubSections(
  { query, now }: PageCall,
  endpointId: string,
  webhooks: readonly EndpointWebhook[],
  { series, attempts, deliveries, carried }: EndpointHub,
): Html {
  const byNumber = new Map(webhooks.map((one) => [one.webhookNumber, one]));
  return html`
    ${section({
      title: 'Throughput',
      id: 'throughput',
      content: html`
        ${periodTabs(`/endpoints/${endpointId}`, query, series.period)}
        ${throughputCharts(series, now)}
      `,
    })}
    ${section({
      title: 'Last attempts',
      id: 'attempts',
      content: attemptList(attempts, {
        webhookOf: ({ webhookNumber }) => byNumber.get(webhookNumber) ?? null,
        carried,
        isOfAll: webhooks.length > 1,
      }),
    })}
    ${deliverySection(webhooks, deliveries, now)}
  `;
}

function deliverySection(webhooks: readonly EndpointWebhook[], deliveries: readonly Delivery[], now: number): Html {
  const [first] = webhooks;
  return section({
    title: 'Latest deliveries',
    id: 'deliveries',
    actions:
      webhooks.length === 1 && first !== undefined
        ? [
            linkButton({
              href: `/deliveries?webhook=${first.id}`,
              label: 'All',
              longLabel: 'All deliveries',
              kind: 'quiet',
            }),
          ]
        : [],
    content: table({
      caption: 'Latest deliveries',
      columns: [
        { label: 'Event', kind: 'main' },
        { label: 'Subject', phone: 'plain' },
        { label: 'State', phone: 'state' },
        { label: 'Published', phone: 'end' },
      ],
      rows: deliveries.map((delivery) => [
        html`
          <a href="/deliveries/${delivery.id}">${delivery.eventType} #${delivery.offset}</a>
          ${webhooks.length > 1 ? html`<span class="cell-hint">${delivery.webhookName}</span>` : null}
        `,
        delivery.subject === null ? html`<span class="quiet">–</span>` : html`${delivery.subject}`,
        stateBadge(delivery.state),
        relativeTime(delivery.createdAt, now),
      ]),
      empty: html`<p class="quiet">No event yet.</p>`,
    }),
  });
}
