/** The section about the requests to an endpoint, on its page: a chart over all webhooks that send there, and their latest deliveries. */

import { isUnhealthy } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { Day, Series } from '../../observe/figures.ts';
import type { EndpointWebhook, WebhookListing } from '../../store/port/directory.ts';
import type { Store } from '../../store/port/store.ts';
import { type LatestDeliveries, latestSection, readLatestDeliveries } from '../deliveries/latest-deliveries.ts';
import type { PageCall } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { readPeriod } from '../frame/query.ts';
import { periodTabs, throughputCharts } from '../parts/chart.ts';
import { section } from '../parts/header.ts';
import { type Cause, mergedCauses, readCausesOf } from '../record/causes.ts';
import { deadOf } from '../record/dead-records.ts';
import { throughputText } from '../webhooks/webhook-activity.ts';
import {
  allFailSince,
  type EndpointActivity,
  type EndpointDead,
  FAILURES_OF,
  isFailedLast,
} from './endpoint-activity.ts';

export type EndpointHub = {
  readonly series: Series;
  readonly deliveries: LatestDeliveries;
  /** The newest webhooks, each with its last day. */
  readonly listings: readonly (WebhookListing & { readonly day: Day | undefined })[];
  readonly dead: EndpointDead;
  /** Why deliveries to it fail, by all of its webhooks. */
  readonly causes: readonly Cause[];
};

/** Webhooks in the table. */
const WEBHOOKS_SHOWN = 10;

/** Null if no webhook sends to the endpoint. */
export async function readHub(
  { store, figures, kept }: Pick<SharedPageDependencies, 'store' | 'figures' | 'kept'>,
  { query, now }: Pick<PageCall, 'query' | 'now'>,
  endpointId: string,
  activity: EndpointActivity,
): Promise<EndpointHub | null> {
  const { webhooks, dayOf } = activity;
  if (webhooks.length === 0) return null;
  const numbers = webhooks.map(({ webhookNumber }) => webhookNumber);
  // The charts begin with what there is to see: the failures, or the last attempt.
  const lastAt = Math.max(activity.failure?.at ?? 0, activity.deliveredAt ?? 0);
  const since = allFailSince(webhooks) ?? (lastAt === 0 ? null : lastAt);
  const [series, deliveries, listings, failures] = await Promise.all([
    figures.within(async () => numbers).series(readPeriod(query, since === null ? 0 : now - since), 0),
    readLatestDeliveries(store, numbers),
    store.directory.webhooks({ endpointId }, null, WEBHOOKS_SHOWN),
    readFailures(store, activity, kept.deadDays),
  ]);
  return {
    series,
    deliveries,
    listings: listings.map((listing) => ({ ...listing, day: dayOf(listing.webhook.progress.webhookNumber) })),
    ...failures,
  };
}

async function readFailures(
  store: Pick<Store, 'directory' | 'deliveries'>,
  activity: EndpointActivity,
  keptDays: number,
): Promise<Pick<EndpointHub, 'dead' | 'causes'>> {
  const inOrder = activity.webhooks.toSorted((a, b) => Number(isUnhealthy(b.state)) - Number(isUnhealthy(a.state)));
  const read = inOrder.slice(0, FAILURES_OF);
  const numbers = read.map(({ webhookNumber }) => webhookNumber);
  const countOf = await deadOf(store, numbers);
  const counts = numbers.map(countOf);
  const withDead = read.filter((_, at) => (counts[at]?.records ?? 0) > 0);
  const [only] = read.length === 1 ? read : withDead.length === 1 ? withDead : [];
  const dead = {
    webhookId: only?.id ?? null,
    keptDays,
    records: counts.reduce((sum, { records }) => sum + records, 0),
    isWhole: inOrder.length === read.length && counts.every(({ isWhole }) => isWhole),
  };
  const fails = dead.records > 0 || isFailedLast(activity);
  const causesOf = await readCausesOf(store, fails ? numbers : []);
  return { dead, causes: mergedCauses(read.flatMap(({ id }) => causesOf(id))) };
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
      content: throughputCharts(series),
    })}
    ${latestSection(
      deliveries,
      webhooks.map(({ id }) => id),
      { now, isPulled: false },
    )}
  `;
}
