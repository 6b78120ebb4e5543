/** The activity of a webhook on its page: charts, its latest deliveries, and the result of a test event. */

import type { AttemptRecord } from '../../domain/batch.ts';
import { adviceForOwner, type ErrorClass } from '../../domain/outcome.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import type { Series } from '../../observe/figures.ts';
import { attemptDetails, tookText } from '../deliveries/attempt-details.ts';
import { type LatestDeliveries, latestSection, readLatestDeliveries } from '../deliveries/latest-deliveries.ts';
import type { PageCall } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { readPeriod } from '../frame/query.ts';
import { deliveriesChart, periodTabs, rateTitle, throughputCharts } from '../parts/chart.ts';
import { section } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { countOf, countText, percentilesText, sentence, shareText, time } from '../parts/text.ts';

export type WebhookActivity = {
  readonly series: Series;
  readonly deliveries: LatestDeliveries;
};

export async function readWebhookActivity(
  { figures, store }: Pick<SharedPageDependencies, 'figures' | 'store'>,
  query: URLSearchParams,
  { progress: { webhookNumber } }: Webhook,
): Promise<WebhookActivity> {
  const [series, deliveries] = await Promise.all([
    figures.series(readPeriod(query), webhookNumber),
    readLatestDeliveries(store, [webhookNumber]),
  ]);
  return { series, deliveries };
}

/** Two sections for `/webhooks/{id}`. The page must set `hasCharts: true` and have `period` in its URL. */
export function activitySections(
  { query, now }: PageCall,
  { id, mode }: Webhook,
  { series, deliveries }: WebhookActivity,
): Html {
  const isPulled = mode === 'pull';
  return html`
    ${section({
      title: 'Throughput',
      id: 'throughput',
      lead: isPulled ? readSummary(series) : throughputText(series),
      actions: [periodTabs(`/webhooks/${id}`, query, series.period)],
      content: isPulled ? pulledChart(series, now) : throughputCharts(series, now),
    })}
    ${latestSection(deliveries, [id], { now, isPulled })}
  `;
}

/** The lead above says that nothing was acknowledged. */
function pulledChart(series: Series, now: number): Html {
  if (series.total.delivered === 0) return html``;
  return html`
    <div class="columns">
      <div class="stack"><h3>${rateTitle('Deliveries', series)}</h3>${deliveriesChart(series, now, 'Deliveries')}</div>
    </div>
  `;
}

/** The figures of the charts, in words. */
export function throughputText({ period, total }: Series): string {
  const { delivered, dead, attempts, successRate, p50Ms, p95Ms } = total;
  // The place of the chart says that nothing was sent.
  if (successRate === null) return 'Test events do not count.';
  const times = p50Ms === null || p95Ms === null ? '' : ` Response time: ${percentilesText(p50Ms, p95Ms)}.`;
  return (
    `In the last ${period}: ${countOf(delivered, 'event')} delivered, ${countText(dead)} dead. ` +
    `${shareText(successRate)} of ${countOf(attempts, 'attempt')} succeeded.${times}`
  );
}

/** In mode `pull`, nothing is sent. */
function readSummary({ period, total: { delivered } }: Series): string {
  return delivered === 0
    ? `Nothing was acknowledged in the last ${period}.`
    : `In the last ${period}, its reader acknowledged ${countOf(delivered, 'event')}.`;
}

/** The place of the result of a test event. A live update leaves it as it is. */
export function testRegion(result: Html | null): Html {
  return html`<div id="test" data-hx-morph-skip${result === null ? html` hidden` : null}>${result}</div>`;
}

/** `url` is that of the endpoint, `customerId` that of the webhook. */
export function testSection(attempt: AttemptRecord, url: string, customerId: string | null): Html {
  const { errorClass, errorMessage, responseStatus, timings, startedAt } = attempt;
  const took = timings.totalMs === null ? '' : ` after ${tookText(timings.totalMs)}`;
  const verdict =
    errorClass === null
      ? notice({
          tone: 'positive',
          title: `It arrived${took}.`,
          text: 'The receiver accepted the test event. Test events are in no list of deliveries.',
        })
      : notice({
          tone: 'negative',
          title: sentence(errorMessage ?? errorClass),
          text: adviceForOwner(customerId, errorClass as ErrorClass, responseStatus, errorMessage),
        });
  return section({
    title: 'Test event',
    lead: html`Sent ${time(startedAt)}.`,
    content: html`<div class="stack" role="status">${verdict}${attemptDetails(attempt, url)}</div>`,
  });
}
