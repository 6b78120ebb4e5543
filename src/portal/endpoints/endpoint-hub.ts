/** The section about the requests to an endpoint, on its page: a chart over all webhooks that send there, and their latest deliveries. */

import { type Html, html } from '../../http/html.ts';
import type { Series } from '../../observe/figures.ts';
import type { EndpointWebhook } from '../../store/port/directory.ts';
import { type LatestDeliveries, latestSection, readLatestDeliveries } from '../deliveries/latest-deliveries.ts';
import type { PageCall } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { readPeriod } from '../frame/query.ts';
import { periodTabs, throughputCharts } from '../parts/chart.ts';
import { section } from '../parts/header.ts';

export type EndpointHub = {
  readonly series: Series;
  readonly deliveries: LatestDeliveries;
};

/** Null if no webhook sends to the endpoint. */
export async function readHub(
  { store, figures }: Pick<SharedPageDependencies, 'store' | 'figures'>,
  query: URLSearchParams,
  webhooks: readonly EndpointWebhook[],
): Promise<EndpointHub | null> {
  if (webhooks.length === 0) return null;
  const numbers = webhooks.map(({ webhookNumber }) => webhookNumber);
  const [series, deliveries] = await Promise.all([
    figures.within(async () => numbers).series(readPeriod(query), 0),
    readLatestDeliveries(store, numbers),
  ]);
  return { series, deliveries };
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
