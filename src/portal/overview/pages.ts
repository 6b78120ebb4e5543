/** The overview: the state of the service, live and over time, what needs attention, and the first steps for new users. */

import { type Html, html } from '../../http/html.ts';
import { OVERVIEW_EVERY_MS } from '../../kernel/limits/portal.ts';
import type { Period, Series } from '../../observe/figures.ts';
import type { PageDependencies } from '../dependencies.ts';
import { pause, type StreamEvent } from '../event-stream.ts';
import { deliveriesChart, latencyChart, tokensChart } from '../live/rates.ts';
import type { PageRoute } from '../page.ts';
import { figures } from '../parts/details.ts';
import { pageHeader, section } from '../parts/header.ts';
import { countOf, countText, shareText } from '../parts/number.ts';
import { periodTabs, readPeriod } from '../parts/period.ts';
import { table } from '../parts/table.ts';
import { relativeTime, spanText } from '../parts/time.ts';
import { isSetUp, readSetUp, setUpChecklist } from '../set-up.ts';
import { attentionSection } from './attention.ts';
import { type Overview, overviewReader } from './reading.ts';

const PATH = '/';
const LIVE = '/overview/live';

export function overviewPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, store, hasPage } = dependencies;
  const read = overviewReader(dependencies);
  return [
    pages.view(PATH, async (call) => {
      const period = readPeriod(call.query);
      const [steps, overview] = await Promise.all([readSetUp(store), read(period)]);
      const content = html`${pageHeader({ title: 'Overview', lead: LEAD })}${isSetUp(steps) ? null : setUpChecklist(steps, call.role, hasPage)}${periodTabs(PATH, call.query, period)}<div id="live" class="page-part" hx-sse:connect="${LIVE}?period=${period}" hx-swap="innerMorph">${overviewContent(overview)}</div>`;
      return { title: 'Overview', content, hasCharts: true };
    }),
    pages.stream(LIVE, ({ query, signal }) => watch(readPeriod(query), signal)),
  ];

  async function* watch(period: Period, signal: AbortSignal): AsyncGenerator<StreamEvent> {
    for (;;) {
      await pause(OVERVIEW_EVERY_MS[period], signal);
      if (signal.aborted) return;
      yield { html: overviewContent(await read(period)) };
    }
  }
}

const LEAD = 'What went out and what came in, what waits, and what needs somebody.';

/** Made once for each reading, for all clients. */
const contents = new WeakMap<Overview, Html>();

function overviewContent(overview: Overview): Html {
  const content = contents.get(overview) ?? madeContent(overview);
  contents.set(overview, content);
  return content;
}

function madeContent(overview: Overview): Html {
  const { series, at } = overview;
  return html`${headFigures(overview)}${attentionSection({ ...overview, now: at })}${section({ title: 'Deliveries per minute', lead: 'Records, by what an attempt made of them.', content: deliveriesChart(series, at) })}<div class="columns">${section({ title: 'Time to answer', lead: 'Of attempts that carried records, waiting for a connection included.', content: latencyChart(series) })}${section({ title: 'Tokens per minute', lead: 'Asked for by applications.', content: tokensChart(series, at) })}</div>${queues(overview)}`;
}

function headFigures({ series, backlog, dead, at }: Overview): Html {
  const { total } = series;
  const { delivered, attempts, failedAttempts, successRate, p50Ms, p95Ms } = total;
  return figures([
    { label: 'Delivered', value: countText(delivered), hint: `in the last ${series.period}` },
    {
      label: 'Success rate',
      value: successRate === null ? '–' : shareText(successRate),
      tone: toneOf(successRate),
      hint:
        attempts === 0 ? 'No attempt yet' : `${countText(failedAttempts)} of ${countOf(attempts, 'attempt')} failed`,
    },
    {
      label: 'Time to answer',
      value: p50Ms === null ? '–' : spanText(p50Ms),
      hint: p95Ms === null ? 'No answer yet' : `95 of 100 within ${spanText(p95Ms)}`,
    },
    {
      label: 'Waiting',
      value: countText(backlog.records),
      href: '/deliveries?state=pending',
      hint: backlog.oldestAt === null ? 'Nothing waits' : html`the oldest from ${relativeTime(backlog.oldestAt, at)}`,
    },
    {
      label: 'Dead',
      value: `${countText(dead.records)}${dead.more ? '+' : ''}`,
      href: '/deliveries?state=dead',
      tone: dead.records > 0 ? 'negative' : 'neutral',
      hint: dead.records > 0 ? 'kept until they are sent again' : 'Nothing was given up',
    },
    { label: 'Tokens issued', value: countText(total.tokensIssued), hint: refusals(series) },
  ]);
}

function toneOf(successRate: number | null): 'neutral' | 'caution' | 'negative' {
  if (successRate === null || successRate >= 0.99) return 'neutral';
  return successRate >= 0.9 ? 'caution' : 'negative';
}

function refusals({ total: { tokensRefused, callsRefused } }: Series): string {
  const refused = [
    tokensRefused > 0 ? countOf(tokensRefused, 'token') : null,
    callsRefused > 0 ? countOf(callsRefused, 'call') : null,
  ].filter((one) => one !== null);
  return refused.length === 0 ? 'Nothing was refused' : `${refused.join(' and ')} refused`;
}

function queues({ backlog, at }: Overview): Html | null {
  if (backlog.longest.length === 0) return null;
  return section({
    title: 'Longest queues',
    isPlain: true,
    content: table({
      caption: 'Longest queues',
      columns: [{ label: 'Webhook', kind: 'main' }, { label: 'Waiting', kind: 'number' }, { label: 'The oldest from' }],
      rows: backlog.longest.map(({ id, name, records, oldestAt }) => [
        html`<a href="/webhooks/${id}">${name}</a>`,
        html`<a href="/deliveries?webhook=${id}&state=pending">${countText(records)}</a>`,
        relativeTime(oldestAt, at),
      ]),
      empty: html``,
    }),
  });
}
