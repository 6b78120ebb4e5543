/** The section about the requests to an endpoint, on its page: a chart over all webhooks that send there, and their latest deliveries. */

import { type Html, html } from '../../http/html.ts';
import type { Day, Series } from '../../observe/figures.ts';
import type { EndpointWebhook, WebhookListing } from '../../store/port/directory.ts';
import { type LatestDeliveries, latestSection, readLatestDeliveries } from '../deliveries/latest-deliveries.ts';
import type { PageCall } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { readPeriod } from '../frame/query.ts';
import { periodTabs, throughputCharts } from '../parts/chart.ts';
import { section } from '../parts/header.ts';
import type { DeadRecords } from '../record/webhook-state.ts';
import { throughputText } from '../webhooks/webhook-activity.ts';

export type EndpointHub = {
  readonly series: Series;
  readonly deliveries: LatestDeliveries;
  /** The newest webhooks, and the last day of each by its number. */
  readonly listings: readonly WebhookListing[];
  readonly days: ReadonlyMap<number, Day>;
  readonly dead: DeadRecords;
};

/** Webhooks in the table, and the batches in which the dead deliveries of each are counted. */
const WEBHOOKS_SHOWN = 10;
const DEAD_COUNTED_BATCHES = 1000;
const DEAD_OF = 20;

/** Null if no webhook sends to the endpoint. */
export async function readHub(
  { store, figures }: Pick<SharedPageDependencies, 'store' | 'figures'>,
  query: URLSearchParams,
  endpointId: string,
  webhooks: readonly EndpointWebhook[],
): Promise<EndpointHub | null> {
  if (webhooks.length === 0) return null;
  const numbers = webhooks.map(({ webhookNumber }) => webhookNumber);
  const [series, deliveries, listings, counts] = await Promise.all([
    figures.within(async () => numbers).series(readPeriod(query), 0),
    readLatestDeliveries(store, numbers),
    store.directory.webhooks({ endpointId }, null, WEBHOOKS_SHOWN),
    Promise.all(numbers.slice(0, DEAD_OF).map((number) => store.directory.deadRecords(number, DEAD_COUNTED_BATCHES))),
  ]);
  const days = await figures.days(listings.map(({ webhook }) => webhook.progress.webhookNumber));
  const dead = {
    records: counts.reduce((sum, { records }) => sum + records, 0),
    isWhole: numbers.length <= DEAD_OF && counts.every(({ isWhole }) => isWhole),
  };
  return { series, deliveries, listings, days, dead };
}

/** The page must set `hasCharts: true` and have `period` in its URL. */
export function hubSections(
  { query, now }: PageCall,
  endpointId: string,
  webhooks: readonly EndpointWebhook[],
  { series, deliveries }: EndpointHub,
): Html {
  return html`
    ${section({
      title: 'Throughput',
      id: 'throughput',
      lead: throughputText(series),
      actions: [periodTabs(`/endpoints/${endpointId}`, query, series.period)],
      content: throughputCharts(series, now),
    })}
    ${latestSection(
      deliveries,
      webhooks.map(({ id }) => id),
      { now, isPulled: false },
    )}
  `;
}
