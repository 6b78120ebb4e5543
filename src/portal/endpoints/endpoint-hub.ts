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
import { DEAD_OF_WEBHOOKS, type EndpointActivity } from './endpoint-activity.ts';

export type EndpointHub = {
  readonly series: Series;
  readonly deliveries: LatestDeliveries;
  /** The newest webhooks, each with its last day. */
  readonly listings: readonly (WebhookListing & { readonly day: Day | undefined })[];
  readonly dead: DeadRecords;
};

/** Webhooks in the table, and the batches in which the dead deliveries of each are counted. */
const WEBHOOKS_SHOWN = 10;
const DEAD_COUNTED_BATCHES = 1000;

/** Null if no webhook sends to the endpoint. */
export async function readHub(
  { store, figures }: Pick<SharedPageDependencies, 'store' | 'figures'>,
  query: URLSearchParams,
  endpointId: string,
  { webhooks, dayOf }: EndpointActivity,
): Promise<EndpointHub | null> {
  if (webhooks.length === 0) return null;
  const numbers = webhooks.map(({ webhookNumber }) => webhookNumber);
  const counted = numbers.slice(0, DEAD_OF_WEBHOOKS);
  const [series, deliveries, listings, dead] = await Promise.all([
    figures.within(async () => numbers).series(readPeriod(query), 0),
    readLatestDeliveries(store, numbers),
    store.directory.webhooks({ endpointId }, null, WEBHOOKS_SHOWN),
    store.directory.deadRecords(counted, DEAD_COUNTED_BATCHES),
  ]);
  return {
    series,
    deliveries,
    listings: listings.map((listing) => ({ ...listing, day: dayOf(listing.webhook.progress.webhookNumber) })),
    dead: { ...dead, isWhole: dead.isWhole && counted.length === numbers.length },
  };
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
