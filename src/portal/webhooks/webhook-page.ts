/** `/webhooks/{id}`: one webhook with its state, activity and settings, live. */

import type { AttemptRecord } from '../../domain/batch.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import type { WebhookListing } from '../../store/port/directory.ts';
import { addressFor } from '../frame/browser.ts';
import type { PageCall } from '../frame/call.ts';
import { type LiveReading, liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { linkButton } from '../parts/header.ts';
import { STATES_READ, STATES_SHOWN } from '../parts/limits.ts';
import { withQuery } from '../parts/list.ts';
import { withOwner } from '../record/owner.ts';
import { shownTypes } from './filter-editor.ts';
import { readerSection } from './reader-section.ts';
import { samplesSection } from './sample-events.ts';
import { KEYS_SHOWN, waitingKeysSection } from './waiting-keys.ts';
import { activitySections, readWebhookActivity, testRegion, testSection } from './webhook-activity.ts';
import { removalSection, settingsSection, statusRegion, type WebhookFigures, webhookHeader } from './webhook-detail.ts';
import { failsSince, historySection, incidentsOf } from './webhook-history.ts';
import { deadRecordsOf, endpointUrlOf, listingOf } from './webhook-reading.ts';

export function webhookPage(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, store, clock, feed } = dependencies;
  const found = (call: PageCall): Promise<WebhookListing> => listingOf(dependencies, call);
  return [
    pages.view('/webhooks/{id}', 'both', async (call) => {
      const listing = await found(call);
      const attempt = await testOf(dependencies, call, listing);
      const { id, name, customerId } = listing.webhook;
      const url = attempt === null ? '' : await endpointUrlOf(dependencies, listing.webhook);
      const test = attempt === null ? null : testSection(attempt, url, customerId);
      const { content } = await readPage(dependencies, call, listing, test);
      const stream = withQuery(`/webhooks/${id}/live`, call.query, {});
      const live = attributes({ 'data-hx-sse:connect': stream, 'data-hx-swap': 'innerMorph' });
      return withOwner(store, listing.webhook, {
        title: name,
        content: html`<div id="webhook" class="page-part"${live}>${content()}</div>`,
        hasCharts: true,
      });
    }),
    pages.stream('/webhooks/{id}/live', 'both', async (call) => {
      const { id } = (await found(call)).webhook;
      return liveContent(feed, id, call.signal, async () =>
        readPage(dependencies, { ...call, now: clock() }, await found(call), null),
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

async function figuresOf(
  dependencies: SharedPageDependencies,
  listing: WebhookListing,
): Promise<Omit<WebhookFigures, 'failsSince'>> {
  const { webhookNumber } = listing.webhook.progress;
  const [dead, oldestAt, days, outcomes] = await Promise.all([
    deadRecordsOf(dependencies, listing),
    dependencies.store.directory.oldestWaitingAt(webhookNumber),
    dependencies.figures.days([webhookNumber]),
    dependencies.store.attempts.lastOutcomes([webhookNumber]),
  ]);
  const deliveredAt = outcomes.get(webhookNumber)?.deliveredAt ?? null;
  return { dead, oldestAt, day: days.get(webhookNumber), deliveredAt };
}

/** The page of a webhook, which is live. `test` is the result of a test event just sent. */
async function readPage(
  dependencies: SharedPageDependencies,
  call: PageCall,
  listing: WebhookListing,
  test: Html | null,
): Promise<LiveReading> {
  const { store, hasPage, publicUrl } = dependencies;
  const { webhook } = listing;
  const { id, customerId, createdAt, encryptionKeyName } = webhook;
  const [figures, activity, history, key, eventTypes, waitingKeys] = await Promise.all([
    figuresOf(dependencies, listing),
    readWebhookActivity(dependencies, call.query, webhook),
    store.stateHistory.ofWebhook(id, STATES_READ),
    encryptionKeyName === null ? null : store.keys.getByName(customerId, encryptionKeyName),
    shownTypes(store),
    webhook.ordered === 'key' ? dependencies.services.webhooks.keyOrder.waitingKeys(id, FIRST_KEYS) : null,
  ]);
  const samples =
    call.may('operator') && webhook.mode !== 'pull' ? samplesSection(call.csrf, webhook, eventTypes) : null;
  const audit = linkButton({ href: `/audit?target=webhook:${id}`, label: 'Audit log', kind: 'quiet' });
  const incidents = incidentsOf(history);
  const isWhole = history.length < STATES_READ && incidents.length <= STATES_SHOWN;
  const status = { listing, figures: { ...figures, failsSince: failsSince(history) }, hasPage };
  const attempts = activity.attempts.map((attempt) => attempt.id);
  const version = JSON.stringify([listing, figures, activity.series, attempts, history, key?.id, waitingKeys]);
  const content = (): Html =>
    html`
      ${webhookHeader(call, status)}
      ${testRegion(test)}
      ${statusRegion(call, status)}
      ${waitingKeysSection(call, id, waitingKeys)}
      ${webhook.mode === 'pull' ? readerSection(webhook, addressFor(call.request, publicUrl())) : null}
      ${activitySections(call, webhook, activity)}
      ${samples}
      <div class="columns">
        ${settingsSection(listing, key)}
        ${historySection(incidents.slice(0, STATES_SHOWN), isWhole, createdAt, audit, call.now)}
      </div>
      ${call.may('administrator') ? removalSection(webhook) : null}
    `;
  return { version, content };
}
