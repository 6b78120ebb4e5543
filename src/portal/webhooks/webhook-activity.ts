/** The activity of a webhook on its page: charts, its latest deliveries, and the result of a test event. */

import type { AttemptRecord } from '../../domain/batch.ts';
import type { Endpoint } from '../../domain/endpoint.ts';
import { adviceForOwner, type ErrorClass } from '../../domain/outcome.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import type { Series } from '../../observe/figures.ts';
import { attemptDetails, tookText } from '../deliveries/attempt-details.ts';
import { type LatestDeliveries, latestSection, readLatestDeliveries } from '../deliveries/latest-deliveries.ts';
import type { PageCall } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { readPeriod } from '../frame/query.ts';
import { countTitle, deliveriesChart, periodTabs, throughputCharts } from '../parts/chart.ts';
import { section } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { countOf, percentilesText, sentence, time } from '../parts/text.ts';
import { credentialsOf } from '../record/causes.ts';

type WebhookActivity = {
  readonly series: Series;
  readonly deliveries: LatestDeliveries;
};

export async function readWebhookActivity(
  { figures, store }: Pick<SharedPageDependencies, 'figures' | 'store'>,
  { query, now }: Pick<PageCall, 'query' | 'now'>,
  { progress: { webhookNumber, state, stateAt } }: Webhook,
  failsSince: number | null,
): Promise<WebhookActivity> {
  const since = state === 'failed' ? stateAt : failsSince;
  const [series, deliveries] = await Promise.all([
    figures.series(readPeriod(query, since === null ? 0 : now - since), webhookNumber),
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
      content: isPulled ? pulledChart(series) : throughputCharts(series),
    })}
    ${latestSection(deliveries, [id], { now, isPulled })}
  `;
}

/** The lead above says that nothing was acknowledged. */
function pulledChart(series: Series): Html {
  if (series.total.delivered === 0) return html``;
  return html`
    <div class="columns">
      <div class="stack"><h3>${countTitle('Deliveries', series)}</h3>${deliveriesChart(series, 'Deliveries')}</div>
    </div>
  `;
}

/** The response time as a sentence: the charts and the figures say the rest. */
export function throughputText({ total: { p50Ms, p95Ms } }: Series): string {
  if (p50Ms === null || p95Ms === null) return 'Test events do not count.';
  return `Response time: ${percentilesText(p50Ms, p95Ms)}.`;
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

type TestedEndpoint = Pick<Endpoint, 'id' | 'name' | 'url'>;

/** `customerId` is that of the webhook. */
export function testSection(attempt: AttemptRecord, endpoint: TestedEndpoint | null, customerId: string | null): Html {
  const { errorClass, errorMessage, responseStatus, timings, startedAt } = attempt;
  const took = timings.totalMs === null ? '' : ` after ${tookText(timings.totalMs)}`;
  const verdict =
    errorClass === null
      ? notice({
          tone: 'positive',
          title: `It arrived${took}.`,
          text: 'The receiver accepted the test event. Deliveries does not list test events.',
        })
      : notice({
          tone: 'negative',
          title: sentence(errorMessage ?? errorClass),
          text: html`
            ${adviceForOwner(customerId, errorClass as ErrorClass, responseStatus, errorMessage)}${' '}
            ${credentialsOf(attempt, endpoint)}
          `,
        });
  return section({
    title: 'Test event',
    lead: html`Sent ${time(startedAt)}.`,
    content: html`<div class="stack" role="status">${verdict}${attemptDetails(attempt, endpoint?.url ?? '')}</div>`,
  });
}
