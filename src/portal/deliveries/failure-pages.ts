/** `/deliveries/failures`: failing deliveries grouped by webhook and cause. It is live, and the dead ones of a group can be sent again. */

import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { FailureGroup, Failures } from '../../store/port/deliveries.ts';
import { FAILURES_EXAMINED_MAX } from '../../store/port/limits.ts';
import type { Store } from '../../store/port/store.ts';
import { attempted, type PageCall, pathId } from '../frame/call.ts';
import { liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { actionButton, linkButton, section } from '../parts/header.ts';
import { FAILURES_EVERY_MS } from '../parts/limits.ts';
import { emptyState, listResults, listView, table, withQuery } from '../parts/list.ts';
import { badge, stateBadge } from '../parts/mark.ts';
import { countOf, countText, lengthTime, relativeTime, shortTime } from '../parts/text.ts';
import {
  causeAdvice,
  causeText,
  credentialsLink,
  isOfCredentials,
  type NamedEndpoint,
  sumOf,
} from '../record/causes.ts';
import { type RecordOwners, readOwners } from '../record/owner.ts';
import { readScope, scopeFields, withWebhookId } from './delivery-scope.ts';
import { resendText } from './delivery-story.ts';
import { DELIVERIES_PATH, deliveryTabs } from './delivery-tabs.ts';
import { replayGroupLabel, replayHref } from './sending-again.ts';

const PATH = `${DELIVERIES_PATH}/failures`;
const STREAM = `${PATH}/changes`;

export function deliveryFailurePages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, store, feed, clock } = dependencies;
  return [
    pages.view(PATH, 'both', async (visit) => {
      const query = await withWebhookId(store, visit.query);
      const call = { ...visit, query };
      const scope = await readScope(dependencies, query);
      const failures = await readFailures(store, scope.numbers);
      return listView({
        title: 'Failures by cause',
        layout: 'under-tabs',
        above: html`${deliveryTabs('failures')}<p class="lead">${LEAD}</p>`,
        filters: failures.groups.length === 0 && scope.numbers === null ? [] : await scopeFields(store, scope),
        stream: withQuery(STREAM, query, {}),
        ...resultsOf(call, failures),
      });
    }),
    pages.stream(STREAM, 'both', async (call) => {
      const webhookId = readText(call.query, 'webhook');
      // A refusal comes before the stream.
      await readScope(dependencies, call.query);
      const readLive = async () => {
        const { numbers } = await readScope(dependencies, call.query);
        const failures = await readFailures(store, numbers);
        const now = clock();
        const content = (): Html => listResults(resultsOf({ ...call, now }, failures));
        return { version: JSON.stringify(failures), content };
      };
      return liveContent(feed, webhookId, call.signal, readLive, { everyMs: FAILURES_EVERY_MS });
    }),
    pages.act(tryPath('{id}'), 'both', 'operator', async (call) => {
      const { form, acting } = call;
      const webhook = await services.webhooks.get(pathId(call));
      const offset = Number(form.get('offset'));
      const delivery = Number.isSafeInteger(offset)
        ? await store.deliveries.at(webhook.progress.webhookNumber, offset)
        : null;
      if (delivery === null) throw new Refusal('not_found', 'there is no such delivery');
      const done = resendText(delivery, webhook.progress.state, webhook.ordered);
      return attempted(`${DELIVERIES_PATH}/${delivery.id}`, done, () =>
        services.deliveries.replay(delivery.id, acting),
      );
    }),
  ];
}

/** Tries a delivery of a webhook before its time: the one at `offset` in the form. */
export function tryPath(webhookId: string): string {
  return `/webhooks/${webhookId}/try`;
}

const LEAD = 'Failed deliveries of any age, dead or still pending, grouped by webhook and cause.';

type OwnedFailures = Failures & {
  readonly owners: RecordOwners;
  /** Pending deliveries that were not tried yet, by the id of the webhook: the groups have only tried ones. */
  readonly untried: Readonly<Record<string, number>>;
  /** By the id of the webhook, of groups that its credentials may have caused. */
  readonly endpoints: ReadonlyMap<string, NamedEndpoint>;
};

/** Webhooks whose pending deliveries are counted. */
const PENDING_COUNTED = 20;

async function readFailures(store: Store, numbers: readonly number[] | null): Promise<OwnedFailures> {
  const failures = await store.deliveries.failures(numbers);
  const ids = failures.groups.map(({ webhookId }) => webhookId);
  const [owners, untried, endpoints] = await Promise.all([
    readOwners(store, 'webhook', ids),
    readUntried(store, failures.groups),
    readEndpoints(store, failures.groups),
  ]);
  return { ...failures, owners, untried, endpoints };
}

async function readEndpoints(
  { directory }: Store,
  groups: readonly FailureGroup[],
): Promise<OwnedFailures['endpoints']> {
  const ofCredentials = groups.filter(({ cause }) => isOfCredentials(cause)).map(({ webhookId }) => webhookId);
  const found = [...new Set(ofCredentials)].slice(0, PENDING_COUNTED).map(async (id) => {
    const listing = await directory.webhook(id);
    const { endpointId = null } = listing?.webhook ?? {};
    const name = listing?.endpointName ?? null;
    return endpointId === null || name === null ? [] : [[id, { id: endpointId, name }] as const];
  });
  return new Map((await Promise.all(found)).flat());
}

async function readUntried({ directory }: Store, groups: readonly FailureGroup[]): Promise<OwnedFailures['untried']> {
  // While others run, the pending ones without a failure are on their way.
  const waiting = groups.filter(({ retrying, webhookState }) => retrying > 0 || !isRunnable(webhookState));
  const byWebhook = [...Map.groupBy(waiting, ({ webhookId }) => webhookId)].slice(0, PENDING_COUNTED);
  const counts = byWebhook.map(async ([id, own]) => {
    const pending = (await directory.webhook(id))?.pendingRecords ?? 0;
    return [id, Math.max(0, pending - sumOf(own, 'retrying'))] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

/** Groups of dead deliveries that a form without a webhook offers. */
const OFFERED = 8;

/** The section *Send again*: the latest groups of dead deliveries, each with the link that chooses it. Null without any. */
export async function deadSection(dependencies: SharedPageDependencies, now: number): Promise<Html | null> {
  const { store } = dependencies;
  const { numbers } = await readScope(dependencies, new URLSearchParams());
  const { groups } = await store.deliveries.failures(numbers);
  const dead = groups.filter((group) => group.dead > 0);
  if (dead.length === 0) return null;
  const shown = dead.slice(0, OFFERED);
  const ids = shown.map(({ webhookId }) => webhookId);
  const owners = await readOwners(store, 'webhook', ids);
  const more = dead.length > OFFERED ? html` <a href="${PATH}">All failures by cause</a>` : null;
  return section({
    title: 'Dead deliveries',
    lead: html`The latest, by webhook and cause.${more}`,
    isPlain: true,
    content: table({
      caption: 'Dead deliveries by webhook and cause',
      columns: [
        { label: 'Webhook', kind: 'main' },
        { label: 'Cause', phone: 'state' },
        { label: 'Dead', kind: 'number', phone: 'named' },
        { label: 'Last failure', phone: 'named' },
        { label: 'Action', kind: 'actions' },
      ],
      rows: shown.map((group) => {
        const { webhookId: id, webhookName: name, cause, lastAt } = group;
        return [
          html`<a href="/webhooks/${id}">${name}</a> ${stateBadge(group.webhookState)} ${owners.hintOf(id)}`,
          badge('negative', causeText(cause)),
          countText(group.dead),
          html`<span class="failure-last">${relativeTime(lastAt, now)}</span>`,
          replayLink(group, owners.named({ id, name })),
        ];
      }),
    }),
  });
}

function resultsOf(call: PageCall, failures: OwnedFailures) {
  const { groups, isWhole } = failures;
  const unknown = failures.dead - sumOf(groups, 'dead');
  const list = table({
    caption: 'Failures by cause',
    columns: [
      { label: 'Cause', kind: 'main' },
      { label: 'Webhook', phone: 'plain' },
      { label: 'Dead', kind: 'number', phone: 'named' },
      { label: 'Pending', kind: 'number', phone: 'named' },
      { label: 'First failure', phone: 'named' },
      { label: 'Last failure', phone: 'named' },
      ...(call.may('operator') ? [{ label: 'Action', kind: 'actions' as const }] : []),
    ],
    rows: groups.map((group) => row(group, failures, call)),
    rowIds: groups.map(({ webhookId, cause }) => `failures-${webhookId}-${cause}`),
    live: ['cause', 'causes'],
    empty: unknown > 0 ? NO_CAUSE : NO_FAILURES,
  });
  const notes = [
    isWhole
      ? null
      : html`
        <p class="quiet">
          Only the newest ${countText(FAILURES_EXAMINED_MAX)} failing batches were counted. Choose a webhook to count
          more of its failures.
        </p>
      `,
    unknown === 0 ? null : unknownNote(unknown, call.query),
  ];
  return { path: PATH, query: call.query, results: html`${list}${notes}` };
}

function unknownNote(count: number, query: URLSearchParams): Html {
  const dead = countOf(count, 'dead delivery', undefined, 'dead deliveries');
  return html`
    <p class="quiet">
      The cause of <a href="${withQuery(DELIVERIES_PATH, query, { state: 'dead' })}">${dead}</a> is not known:
      ${count === 1 ? 'it was' : 'they were'} never tried, or the attempts are no longer kept.
    </p>
  `;
}

function row(group: FailureGroup, failures: OwnedFailures, call: PageCall): Html[] {
  const { owners, untried, groups, endpoints } = failures;
  const { webhookId, webhookName, cause, dead, retrying, oldest, firstAt, lastAt } = group;
  const { now } = call;
  const endpoint = endpoints.get(webhookId);
  const credentials = endpoint === undefined ? null : credentialsLink(cause, endpoint);
  const isFirst =
    group ===
    (groups.find((one) => one.webhookId === webhookId && one.retrying > 0) ??
      groups.find((one) => one.webhookId === webhookId));
  const others = isFirst ? (untried[webhookId] ?? 0) : 0;
  const listed = (state: 'dead' | 'pending', count: number): Html => {
    if (count === 0) return html`<span class="quiet">–</span>`;
    return html`<a href="${searchHref(webhookId, { state, response: cause })}">${countText(count)}</a>`;
  };
  return [
    html`
      ${badge('negative', causeText(cause))}
      <span class="cell-hint is-sentence">
        ${causeAdvice(cause, call.session.customerId)}
        ${credentials === null ? null : html` ${credentials}.`}
        ${call.may('operator') ? testLink(group) : null}
        ${' '}The oldest is <a href="${searchHref(webhookId, { q: `#${oldest.offset}` })}">#${oldest.offset}</a>.
      </span>
    `,
    html`
      <span class="failure-webhook"><a href="/webhooks/${webhookId}">${webhookName}</a> ${stateBadge(group.webhookState)}</span>
      ${' '}
      ${owners.hintOf(webhookId)}
      ${
        others === 0
          ? null
          : html`
            <span class="cell-hint">
              <a href="${searchHref(webhookId, { state: 'pending' })}">${countText(others)} more</a> not tried yet
            </span>
          `
      }
    `,
    listed('dead', dead),
    html`${listed('pending', retrying)}${retrying === 0 ? null : waitText(group)}`,
    html`
      <span class="failure-last">${shortTime(firstAt)}</span>
      <span class="cell-hint failure-last">${lengthTime(firstAt, now)}</span>
    `,
    html`<span class="failure-last">${relativeTime(lastAt, now)}</span>`,
    ...(call.may('operator') ? [action(group, owners.named({ id: webhookId, name: webhookName }), call)] : []),
  ];
}

/** Before a failed webhook is started: whether its receiver accepts events again. */
function testLink({ webhookId, webhookName, webhookState }: FailureGroup): Html | null {
  if (webhookState !== 'failed') return null;
  const label = `Send a test event: ${webhookName}`;
  return html` <a href="/webhooks/${webhookId}#test-button" aria-label="${label}">Send a test event</a> before you start it.`;
}

/** A webhook that does not run tries nothing again. */
function waitText({ webhookState }: FailureGroup): Html {
  const text = isRunnable(webhookState) ? 'retrying' : 'waiting for the start';
  return html`<span class="cell-hint">${text}</span>`;
}

/** The list of deliveries of one webhook. */
function searchHref(webhookId: string, filter: Readonly<Record<string, string>>): string {
  return `${DELIVERIES_PATH}?${new URLSearchParams({ webhook: webhookId, ...filter })}`;
}

/** The action that helps: dead ones are sent again, a webhook that does not run is started, and others are tried before their time. */
function action(group: FailureGroup, name: string, { csrf }: PageCall): Html {
  const { webhookId, webhookState, dead, cause, oldest } = group;
  if (dead > 0) return replayLink(group, name);
  if (!isRunnable(webhookState)) {
    return actionButton({
      action: `/webhooks/${webhookId}/start`,
      csrf,
      label: 'Start the webhook',
      longLabel: `Start the webhook ${name}`,
      icon: 'play',
    });
  }
  return actionButton({
    action: tryPath(webhookId),
    csrf,
    fields: { offset: String(oldest.offset) },
    label: `Try #${oldest.offset} now`,
    longLabel: `Try #${oldest.offset} now: ${name}, ${causeText(cause)}`,
    icon: 'send',
  });
}

/** Leads to the page that counts the deliveries and asks first. */
function replayLink(group: FailureGroup, webhookName: string): Html {
  const { webhookId, cause } = group;
  const label = replayGroupLabel(group);
  return linkButton({
    href: replayHref(webhookId, cause),
    label,
    longLabel: `${label}: ${webhookName}, ${causeText(cause)}`,
    icon: 'replay',
  });
}

const NO_CAUSE = emptyState({
  title: 'No known cause',
  text: 'No delivery waits for another attempt after a failure.',
});
const NO_FAILURES = emptyState({
  title: 'No failures',
  text: 'No delivery is dead, and none waits for another attempt after a failure.',
});
