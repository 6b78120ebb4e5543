/** The activity of a webhook on its page: charts of its deliveries, live attempts, and the result of a test event. */

import type { AttemptRecord } from '../../delivery/batch.ts';
import { type Html, html } from '../../http/html.ts';
import { TAIL_BEGINS_WITH } from '../../kernel/limits/portal.ts';
import type { Series } from '../../observe/figures.ts';
import { adviceFor, type ErrorClass } from '../../outbound/outcome.ts';
import type { Webhook } from '../../webhooks/webhook.ts';
import type { PageCall } from '../call.ts';
import { attemptDetails } from '../deliveries/attempt.ts';
import { tail } from '../deliveries/live.ts';
import type { PageDependencies } from '../page.ts';
import { deliveriesChart, latencyChart, periodTabs, readPeriod } from '../parts/chart.ts';
import { section } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { countOf, countText, sentence, shareText, spanText, time } from '../parts/text.ts';

/** Two sections for `/webhooks/{id}`. The page must set `hasCharts: true` and have `period` in its URL. */
export async function webhookActivity(
  { figures, store }: Pick<PageDependencies, 'figures' | 'store'>,
  { query, now }: PageCall,
  { id, name, progress: { webhookNumber } }: Webhook,
): Promise<Html> {
  const period = readPeriod(query);
  const [series, attempts] = await Promise.all([
    figures.series(period, webhookNumber),
    store.attempts.latestOf(webhookNumber, TAIL_BEGINS_WITH),
  ]);
  const throughput = section({
    title: 'Throughput',
    id: 'throughput',
    lead: summary(series),
    content: html`${periodTabs(`/webhooks/${id}`, query, period)}<div class="columns"><div class="stack"><h3>Deliveries per minute</h3>${deliveriesChart(series, now)}</div><div class="stack"><h3>Time to answer</h3>${latencyChart(series)}</div></div>`,
  });
  const attemptList = section({
    title: 'Attempts',
    id: 'attempts',
    lead: 'The last ones, and each new one as it is made.',
    content: tail({ attempts, webhookOf: () => ({ id, name }), isOfAll: false, stream: `/webhooks/${id}/live` }),
  });
  return html`${throughput}${attemptList}`;
}

function summary({ period, total }: Series): string {
  const { delivered, dead, attempts, successRate, p50Ms, p95Ms } = total;
  if (successRate === null) return `Nothing was sent in the last ${period}.`;
  const times =
    p50Ms === null || p95Ms === null
      ? ''
      : `, half of them within ${spanText(p50Ms)} and 95 of 100 within ${spanText(p95Ms)}`;
  return `In the last ${period}: ${countOf(delivered, 'record')} delivered, ${countText(dead)} given up. ${shareText(successRate)} of ${countOf(attempts, 'attempt')} succeeded${times}.`;
}

/** `url` is that of the endpoint. */
export function testSection(attempt: AttemptRecord, url: string): Html {
  const { errorClass, errorMessage, timings, startedAt } = attempt;
  const took = timings.totalMs === null ? '' : ` after ${spanText(timings.totalMs)}`;
  const verdict =
    errorClass === null
      ? notice({
          tone: 'positive',
          title: `It arrived${took}.`,
          text: 'The receiver took a webhook.test record. It stands in no log and took no offset.',
        })
      : notice({
          tone: 'negative',
          title: sentence(errorMessage ?? errorClass),
          text: adviceFor(errorClass as ErrorClass),
        });
  return section({
    id: 'test',
    title: 'Test event',
    lead: html`Sent ${time(startedAt)}.`,
    content: html`<div class="stack" role="status">${verdict}${attemptDetails(attempt, url)}</div>`,
  });
}
