/** The activity on the page of a webhook: charts of its deliveries, and live attempts. */

import { type Html, html } from '../../http/html.ts';
import { TAIL_BEGINS_WITH } from '../../kernel/limits/portal.ts';
import type { Series } from '../../observe/figures.ts';
import type { Webhook } from '../../webhooks/webhook.ts';
import type { PageCall } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import { section } from '../parts/header.ts';
import { countOf, countText, shareText } from '../parts/number.ts';
import { periodTabs, readPeriod } from '../parts/period.ts';
import { spanText } from '../parts/time.ts';
import { deliveriesChart, latencyChart } from './rates.ts';
import { tail } from './tail.ts';

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
