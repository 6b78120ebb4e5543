/** `/webhooks/{id}`: one webhook, live, in three tabs: its state with its activity, its settings, and its history. */

import type { AttemptRecord } from '../../domain/batch.ts';
import { isRunnable, isUnhealthy } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import type { WebhookListing } from '../../store/port/directory.ts';
import { readChanges, readStopper } from '../audit/record-changes.ts';
import { latestVersion } from '../deliveries/latest-deliveries.ts';
import { addressFor } from '../frame/browser.ts';
import type { PageCall } from '../frame/call.ts';
import { type LiveReading, liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { STATES_READ, STATES_SHOWN } from '../parts/limits.ts';
import { readCausesOf } from '../record/causes.ts';
import { deadRecordsOf } from '../record/dead-records.ts';
import { ownedName, readIsOwn, readOwner } from '../record/owner.ts';
import { RECORD_TABS, type RecordTab, streamOfTab, tabOfStream, tabPath } from '../record/record-tabs.ts';
import { isStoppedByPerson, readFailsSince, readLastDelivered } from '../record/webhook-state.ts';
import { shownTypes } from './filter-editor.ts';
import { readerSection } from './reader-section.ts';
import { samplesSection } from './sample-events.ts';
import { KEYS_SHOWN, waitingKeysSection } from './waiting-keys.ts';
import { activitySections, readWebhookActivity, testRegion, testSection } from './webhook-activity.ts';
import { hasReaderBegun, type Status, statusRegion, webhookHeader } from './webhook-detail.ts';
import { incidentsOf, webhookHistory } from './webhook-history.ts';
import { endpointOf, listingOf } from './webhook-reading.ts';
import { settingsSections } from './webhook-settings.ts';

export function webhookPage(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, clock, feed } = dependencies;
  const found = (call: PageCall): Promise<WebhookListing> => listingOf(dependencies, call);
  const tabPage = (tab: RecordTab): PageRoute<'both'> =>
    pages.view(tabPath('/webhooks/{id}', tab), 'both', async (call) => {
      const listing = await found(call);
      const attempt = await testOf(dependencies, call, listing);
      const { id, name, customerId } = listing.webhook;
      const endpoint = attempt === null ? null : await endpointOf(dependencies, listing.webhook);
      const test = attempt === null ? null : testSection(attempt, endpoint, customerId);
      const page = await readPage(dependencies, call, listing, { tab, test });
      const live = attributes({
        'data-hx-sse:connect': streamOfTab(`/webhooks/${id}`, tab, call.query),
        'data-hx-swap': 'innerMorph',
      });
      return {
        title: ownedName(name, page.status.owner),
        content: html`<div id="webhook" class="page-part"${live}>${page.content()}</div>`,
        hasCharts: tab === 'activity',
      };
    });
  return [
    ...RECORD_TABS.map(tabPage),
    pages.stream('/webhooks/{id}/live', 'both', async (call) => {
      const { id } = (await found(call)).webhook;
      const tab = tabOfStream(call.query);
      return liveContent(feed, id, call.signal, async () =>
        readPage(dependencies, { ...call, now: clock() }, await found(call), { tab, test: null }),
      );
    }),
  ];
}

const FIRST_KEYS = { cursor: null, limit: KEYS_SHOWN };

/** The attempt in the URL, if it is a test of this webhook. */
async function testOf(
  { store }: SharedPageDependencies,
  { query }: PageCall,
  { webhook }: WebhookListing,
): Promise<AttemptRecord | null> {
  const attempt = await store.attempts.get(query.get('test') ?? '');
  return attempt?.kind === 'test' && attempt.webhookNumber === webhook.progress.webhookNumber ? attempt : null;
}

/** Reads the values of the header, which every tab has. */
async function readStatus(
  dependencies: SharedPageDependencies,
  { brand }: PageCall,
  listing: WebhookListing,
): Promise<Status> {
  const { store, hasPage } = dependencies;
  const { webhook } = listing;
  const { id, progress } = webhook;
  const { webhookNumber } = progress;
  const isBarred = !listing.endpointEnabled && !isRunnable(progress.state);
  const [dead, oldestAt, days, outcomes, failsSince, owner, isOwn, stoppedBy, barrier] = await Promise.all([
    deadRecordsOf(store, webhookNumber),
    store.directory.oldestWaitingAt(webhookNumber),
    dependencies.figures.days([webhookNumber]),
    store.attempts.lastOutcomes([webhookNumber]),
    readFailsSince(store, { id, ...progress }),
    readOwner(store, webhook),
    readIsOwn(store, webhook),
    isStoppedByPerson(progress) ? readStopper(dependencies, brand, `webhook:${id}`) : null,
    isBarred && webhook.endpointId !== null ? store.endpoints.get(webhook.endpointId) : null,
  ]);
  const fails = isUnhealthy(progress.state) || dead.records > 0;
  const causesOf = await readCausesOf(store, fails ? [webhookNumber] : []);
  const { deliveredAt: recently = null, failure = null } = outcomes.get(webhookNumber) ?? {};
  const last = recently ?? (isUnhealthy(progress.state) ? await readLastDelivered(store, progress) : null);
  const deliveredAt = last === 'never' ? null : last;
  const day = days.get(webhookNumber);
  const figures = { dead, oldestAt, day, deliveredAt, failure, failsSince, causes: causesOf(id) };
  const { deadDays } = dependencies.kept;
  return { listing, owner, isOwn, barrier, deadDays, figures, stoppedBy, hasPage };
}

/** `test` is the result of a test event just sent. */
type Shown = { readonly tab: RecordTab; readonly test: Html | null };

/** A tab of the page, which is live. */
async function readPage(
  dependencies: SharedPageDependencies,
  call: PageCall,
  listing: WebhookListing,
  { tab, test }: Shown,
): Promise<LiveReading & { readonly status: Status }> {
  const status = await readStatus(dependencies, call, listing);
  const read = { activity: readActivity, settings: readSettings, history: readHistory }[tab];
  const part = await read({ dependencies, call, status });
  const version = JSON.stringify([
    listing,
    status.figures,
    status.owner,
    status.stoppedBy?.markup,
    status.barrier?.name,
    part.version,
  ]);
  const content = (): Html => html`${webhookHeader(call, status, tab)}${testRegion(test)}${part.content()}`;
  return { status, version, content };
}

type Reading = {
  readonly dependencies: SharedPageDependencies;
  readonly call: PageCall;
  readonly status: Status;
};

async function readActivity({ dependencies, call, status }: Reading): Promise<LiveReading> {
  const { store, services, publicUrl } = dependencies;
  const { webhook } = status.listing;
  const { id, ordered, mode } = webhook;
  const [activity, eventTypes, waitingKeys] = await Promise.all([
    readWebhookActivity(dependencies, call, webhook, status.figures.failsSince),
    shownTypes(store),
    ordered === 'key' ? services.webhooks.keyOrder.waitingKeys(id, FIRST_KEYS) : null,
  ]);
  const samples =
    call.may('operator') && mode !== 'pull' && status.barrier === null
      ? samplesSection(call.csrf, webhook, eventTypes)
      : null;
  const isUnread = mode === 'pull' && !hasReaderBegun(webhook);
  const { series, deliveries } = activity;
  return {
    version: JSON.stringify([series, latestVersion(deliveries, call.now), waitingKeys]),
    content: () => html`
      ${statusRegion(call, status)}
      ${samples}
      ${waitingKeysSection(call, id, waitingKeys)}
      ${isUnread ? readerSection(webhook, addressFor(call.request, publicUrl())) : null}
      ${activitySections(call, webhook, activity)}
    `,
  };
}

async function readSettings({ dependencies, call, status }: Reading): Promise<LiveReading> {
  const { store, publicUrl } = dependencies;
  const { listing } = status;
  const { webhook } = listing;
  const { customerId, encryptionKeyName } = webhook;
  const key = encryptionKeyName === null ? null : await store.keys.getByName(customerId, encryptionKeyName);
  const isRead = webhook.mode === 'pull' && hasReaderBegun(webhook);
  return {
    version: JSON.stringify([key?.id]),
    content: () => html`
      ${isRead ? readerSection(webhook, addressFor(call.request, publicUrl())) : null}
      ${settingsSections(call, listing, key)}
    `,
  };
}

async function readHistory({ dependencies, call, status }: Reading): Promise<LiveReading> {
  const { webhook } = status.listing;
  const [history, changes] = await Promise.all([
    dependencies.store.stateHistory.ofWebhook(webhook.id, STATES_READ),
    readChanges(dependencies, call.brand, `webhook:${webhook.id}`),
  ]);
  const all = incidentsOf(history);
  const isWhole = history.length < STATES_READ && all.length <= STATES_SHOWN;
  const incidents = all.slice(0, STATES_SHOWN);
  return {
    version: JSON.stringify([history, changes.entries]),
    content: () => webhookHistory({ webhook, incidents, isWhole, changes }, call.now),
  };
}
