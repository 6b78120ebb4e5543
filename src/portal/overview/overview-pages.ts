/** The overview: the state of the service, live and over time, what needs attention, and the first steps for new users. */
import { type Html, html } from '../../http/html.ts';
import type { Period, Series } from '../../observe/figures.ts';
import type { Expiry } from '../../store/port/housekeeping.ts';
import type { Ailing, Backlog, DeadLetters } from '../../store/port/overview.ts';
import { tryPath } from '../deliveries/failure-pages.ts';
import type { CustomersDeliveries } from '../deliveries/latest-deliveries.ts';
import { attempted, type PageCall } from '../frame/call.ts';
import { liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readPeriod, readText } from '../frame/query.ts';
import { countTitle, deliveriesChart, latencyChart, periodTabs, TRIED, tokensChart } from '../parts/chart.ts';
import { figures } from '../parts/details.ts';
import { linkButton, pageHeader, section, submitButton } from '../parts/header.ts';
import { figureTone } from '../parts/health.ts';
import { QUEUES_SHOWN } from '../parts/limits.ts';
import { countOf, countText, relativeTime, shareText, spanText } from '../parts/text.ts';
import { deadKept } from '../record/dead-records.ts';
import { readOwners } from '../record/owner.ts';
import { isSetUp, readSetUp, setUpChecklist } from '../set-up/set-up-checklist.ts';
import { type Attention, attentionSection, type ProblemOwners, problemLook, readAttention } from './attention.ts';
import { newestDeliveries, readNewestDeliveries } from './newest-deliveries.ts';
import { queuesSection, readStopped, type Stopped } from './queues.ts';

/** How often the overview is sent, by period, and how long one reading is shared. */
const OVERVIEW_EVERY_MS: Readonly<Record<'hour' | 'day' | 'week', number>> = {
  hour: 5000,
  day: 30_000,
  week: 60_000,
};

const OVERVIEW_KEPT_MS = 2000;
const PATH = '/';
const LIVE = '/overview/live';
const START = '/overview/start';
const START_FORM = 'start-form';
const NO_QUERY: URLSearchParams = new URLSearchParams();

export function overviewPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, store, feed, hasPage } = dependencies;
  const { read, forget } = overviewReader(dependencies);
  return [
    pages.view(PATH, 'both', async (call) => {
      const period = readPeriod(call.query);
      const [steps, overview] = await Promise.all([readSetUp(store), read(period)]);
      const lead = store.customerId === null ? undefined : CUSTOMERS_LEAD;
      const content = html`
        ${pageHeader({
          title: 'Overview',
          lead,
          actions: [
            call.may('operator') && hasPage('/publish')
              ? linkButton({ href: '/publish', label: 'Publish an event', icon: 'send' })
              : null,
          ],
        })}
        ${isSetUp(steps) ? null : setUpChecklist(steps, call.role, hasPage)}
        ${call.may('operator') ? startForm(call, period) : null}
        <div id="live" class="page-part" data-hx-sse:connect="${LIVE}?period=${period}" data-hx-swap="innerMorph">
          ${overviewContent(overview, call.may('operator'))}
        </div>
      `;
      return { title: 'Overview', content, hasCharts: true };
    }),
    pages.stream(LIVE, 'both', ({ query, signal, may }) => {
      const period = readPeriod(query);
      const readLive = async () => {
        const overview = await read(period);
        return { version: String(overview.at), content: () => overviewContent(overview, may('operator')) };
      };
      return liveContent(feed, null, signal, readLive, {
        everyMs: OVERVIEW_KEPT_MS,
        checkMs: OVERVIEW_EVERY_MS[period],
      });
    }),
    pages.act(START, 'both', 'operator', async ({ form, acting }) => {
      const webhook = await services.webhooks.get(readText(form, 'webhook') ?? '');
      const { named } = await readOwners(store, 'webhook', [webhook.id]);
      const back = `${PATH}?${new URLSearchParams({ period: readPeriod(form) })}`;
      return attempted(back, `${named(webhook)} is started.`, async () => {
        await services.webhooks.start(webhook.id, acting);
        forget();
      });
    }),
  ];
}

/** The live part is the same for all visitors. Its buttons send this form, which has the visitor's token. */
function startForm({ csrf }: PageCall, period: Period): Html {
  return html`
    <form method="post" action="${START}" id="${START_FORM}" hidden>
      ${csrf}
      <input type="hidden" name="period" value="${period}">
    </form>
  `;
}

function problemButton(webhook: Pick<Ailing, 'id' | 'name'>, offset: number | null): Html {
  const sent =
    offset === null
      ? { name: 'webhook', value: webhook.id }
      : { formAction: tryPath(webhook.id), name: 'offset', value: String(offset) };
  return submitButton({ form: START_FORM, kind: 'plain', ...sent, ...problemLook(webhook, offset) });
}

const CUSTOMERS_LEAD = 'How your events arrive, and what needs your attention.';

/** Made once for each reading, for all clients that may act, and for all that may not. */
const contents = { acting: new WeakMap<Overview, Html>(), reading: new WeakMap<Overview, Html>() };

function overviewContent(overview: Overview, mayAct: boolean): Html {
  const kept = mayAct ? contents.acting : contents.reading;
  const content = kept.get(overview) ?? madeContent(overview, mayAct);
  kept.set(overview, content);
  return content;
}

function madeContent(overview: Overview, mayAct: boolean): Html {
  if (isEmpty(overview)) return html``;
  const { series, at } = overview;
  const hasTokens = overview.hasTokens && hasTokenFigures(series);
  const problems = attentionSection({
    ...overview,
    button: mayAct ? problemButton : null,
    now: at,
  });
  const waiting = queuesSection({ ...overview, owners: overview.owners.webhooks }, mayAct ? problemButton : null, at);
  const isUrgent = overview.backlog.longest.some(({ state }) => state === 'stopped');
  return html`
    ${periodTabs(PATH, NO_QUERY, series.period)}
    ${headFigures({ ...overview, hasTokens })}
    ${problems}
    ${isUrgent ? waiting : null}
    <div class="columns">
      ${section({
        title: countTitle(TRIED, series),
        lead: isOfCustomer(overview) ? 'By outcome.' : BY_OUTCOME,
        content: deliveriesChart(series),
      })}
      ${section({
        title: 'Response time',
        lead: isOfCustomer(overview) ? 'How long your receiver took to answer, connecting included.' : ANSWER_TIMES,
        content: latencyChart(series),
      })}
      ${
        hasTokens
          ? section({
              title: countTitle('Tokens', series),
              lead: 'Requested by applications.',
              content: tokensChart(series),
            })
          : null
      }
    </div>
    ${isUrgent ? null : waiting}
    ${newestDeliveries(overview.newest, mayAct ? START_FORM : null, at)}
  `;
}

/** Of a new customer or service: figures and charts would be empty, and the first steps say what to do. */
function isEmpty({ webhooks, expiring, series, backlog, dead, hasTokens }: Overview): boolean {
  const isQuiet = series.total.attempts === 0 && backlog.records === 0 && dead.records === 0;
  const isUsed = hasTokens && hasTokenFigures(series);
  return webhooks === 'none' && expiring.length === 0 && isQuiet && !isUsed;
}

function headFigures({ series, backlog, dead, deadDays, at, hasTokens }: Overview): Html {
  const { total } = series;
  const { delivered, attempts, failedAttempts, successRate, p50Ms, p95Ms } = total;
  return figures([
    { label: 'Delivered', value: countText(delivered), hint: `in the last ${series.period}` },
    {
      label: 'Success rate',
      value: successRate === null ? '–' : shareText(successRate),
      tone: figureTone(successRate),
      hint:
        attempts === 0 ? 'no attempts yet' : `${countText(failedAttempts)} of ${countOf(attempts, 'attempt')} failed`,
    },
    {
      label: 'Response time',
      value: p50Ms === null ? '–' : spanText(p50Ms),
      hint: p95Ms === null ? 'no response yet' : `median; 95 % within ${spanText(p95Ms)}`,
    },
    {
      label: 'Pending now',
      value: countText(backlog.records),
      href: '/deliveries?state=pending',
      hint: backlog.oldestAt === null ? 'nothing waits' : html`oldest ${relativeTime(backlog.oldestAt, at)}`,
    },
    {
      label: 'Dead now',
      value: `${countText(dead.records)}${dead.more ? '+' : ''}`,
      href: '/deliveries?state=dead',
      tone: dead.records > 0 ? 'negative' : 'neutral',
      hint: dead.records > 0 ? deadKept(deadDays) : 'nothing given up',
    },
    ...(hasTokens ? [{ label: 'Tokens issued', value: countText(total.tokensIssued), hint: refusals(series) }] : []),
  ]);
}

/** Of a service that is only used for webhooks there are none. */
function hasTokenFigures({ total: { tokensIssued, tokensRefused, callsRefused } }: Series): boolean {
  return tokensIssued + tokensRefused + callsRefused > 0;
}

function isOfCustomer({ owners }: Overview): boolean {
  return owners.customerId !== null;
}

const BY_OUTCOME = 'By outcome. A request with several deliveries counts as several.';
const ANSWER_TIMES = 'How long receivers took to answer, connecting included.';

function refusals({ total: { tokensRefused, callsRefused } }: Series): string {
  const refused = [
    tokensRefused > 0 ? countOf(tokensRefused, 'token') : null,
    callsRefused > 0 ? countOf(callsRefused, 'call') : null,
  ].filter((one) => one !== null);
  return refused.length === 0 ? 'none refused' : `${refused.join(' and ')} refused`;
}

type Overview = Omit<Attention, 'now' | 'button'> & {
  readonly at: number;
  readonly series: Series;
  readonly backlog: Backlog;
  readonly dead: DeadLetters;
  /** How long they are kept; 0: forever. */
  readonly deadDays: number;
  readonly newest: CustomersDeliveries | null;
  /** Why webhooks with pending deliveries are stopped, by their ids. */
  readonly stopped: ReadonlyMap<string, Stopped>;
  /** Tokens are counted for the whole service, so a customer's overview has none. */
  readonly hasTokens: boolean;
  readonly owners: ProblemOwners;
};

type OverviewReader = {
  /** Shared by all visitors for `OVERVIEW_KEPT_MS`. */
  read(period: Period): Promise<Overview>;
  /** After a change: the next reading shows it. */
  forget(): void;
};

function overviewReader({
  store,
  figures,
  clock,
  kept: { deadDays },
}: Pick<SharedPageDependencies, 'store' | 'figures' | 'clock' | 'kept'>): OverviewReader {
  const kept = new Map<Period, { readonly at: number; readonly reading: Promise<Overview> }>();
  const read = async (period: Period, at: number): Promise<Overview> => {
    const [series, attention, backlog, dead, newest] = await Promise.all([
      figures.series(period, 0),
      readAttention(store, at),
      store.overview.backlog(store.customerId, QUEUES_SHOWN),
      store.overview.dead(store.customerId),
      readNewestDeliveries(store),
    ]);
    const { ailing, expiring } = attention;
    const named = (kind: Expiry['kind']) => expiring.filter((one) => one.kind === kind).map(({ id }) => id);
    const [stopped, webhooks, key, certificate] = await Promise.all([
      readStopped(store, backlog),
      readOwners(
        store,
        'webhook',
        [...ailing, ...backlog.longest].map(({ id }) => id),
      ),
      readOwners(store, 'pgp_key', named('key')),
      readOwners(store, 'endpoint', named('certificate')),
    ]);
    const owners = { customerId: store.customerId, webhooks, key, certificate };
    const hasTokens = store.customerId === null;
    return { ...attention, at, series, backlog, dead, deadDays, newest, stopped, owners, hasTokens };
  };
  return {
    read: (period) => {
      const now = clock();
      const known = kept.get(period);
      if (known !== undefined && now >= known.at && now < known.at + OVERVIEW_KEPT_MS) return known.reading;
      const reading = read(period, now);
      kept.set(period, { at: now, reading });
      // A failed read is not kept.
      reading.catch(() => kept.delete(period));
      return reading;
    },
    forget: () => kept.clear(),
  };
}
