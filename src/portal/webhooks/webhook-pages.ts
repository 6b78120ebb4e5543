/** The pages of webhooks: the list, one webhook with its actions, and its forms. */
import type { AttemptRecord } from '../../domain/batch.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { CHOICES_MAX, DEAD_COUNTED_BATCHES, STATES_READ, STATES_SHOWN } from '../../kernel/limits/portal.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { WebhookListing } from '../../store/port/directory.ts';
import { webhookReader } from '../../webhooks/webhook-schema.ts';
import { attempted, type PageCall, pathId, type Redirect, redirectTo, refusedTo } from '../frame/call.ts';
import { type LiveReading, liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { linkButton, pageHeader } from '../parts/header.ts';
import { withQuery } from '../parts/list.ts';
import { countOf, sentence } from '../parts/text.ts';
import { objectPatches } from '../record/json-field.ts';
import { withOwner } from '../record/owner.ts';
import { recordPages, removalPages } from '../record/record-pages.ts';
import { filterPages, shownTypes } from './filter-editor.ts';
import { readerSection } from './reader-section.ts';
import { samplesSection } from './sample-events.ts';
import { activitySections, readActivity, testRegion, testSection } from './webhook-activity.ts';
import {
  type DeadRecords,
  deadCount,
  removalSection,
  settingsSection,
  statusRegion,
  type WebhookFigures,
  webhookHeader,
} from './webhook-detail.ts';
import {
  encryptionRule,
  patternsOf,
  webhookFields,
  webhookLayout,
  webhookSettings,
  withoutEndpoint,
} from './webhook-form.ts';
import { historySection, incidentsOf } from './webhook-history.ts';
import { webhookListPage } from './webhook-list.ts';

export function webhookPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, store, clock, feed, testDelivery, hasPage, publicUrl } = dependencies;
  const { webhooks, endpoints, keys } = services;

  const found = async (call: PageCall): Promise<WebhookListing> => {
    const listing = await store.directory.webhook(pathId(call));
    if (listing === null) throw new Refusal('not_found', 'there is no such webhook');
    return listing;
  };

  const switching = (verb: 'start' | 'stop'): PageRoute<'both'> =>
    pages.page({
      for: 'both',
      method: 'POST',
      path: `/webhooks/{id}/${verb}`,
      role: 'operator',
      respond: async (call) => {
        const done = verb === 'start' ? 'The webhook is started.' : 'The webhook is stopped. New records wait.';
        return attempted(`/webhooks/${pathId(call)}`, done, () => webhooks[verb](pathId(call), call.acting));
      },
    });

  /** The webhook stays if it cannot start. Its page says why. */
  const started = async (call: PageCall, { id, name }: Webhook): Promise<Redirect> => {
    const path = `/webhooks/${id}`;
    try {
      await webhooks.start(id, call.acting);
      return redirectTo(path, `${name} is created and started.`);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return {
        redirect: path,
        flash: {
          tone: 'negative',
          text: `${name} is created${error.repeat === 'after a look' ? '' : ', and not started'}. ${sentence(error.inPortal ?? error.message)}`,
        },
      };
    }
  };

  const entity = {
    for: 'both' as const,
    list: { href: '/webhooks', label: 'Webhooks' },
    noun: 'webhook',
    nameOf: ({ name }: Webhook) => name,
    administration: webhooks,
    settings: webhookSettings,
  };

  return [
    webhookListPage(dependencies),
    ...recordPages(pages, {
      ...entity,
      reader: webhookReader,
      owners: store,
      choices: async (owner) => {
        const [offered, eventTypes, allKeys] = await Promise.all([
          store.directory.endpointNames(owner, CHOICES_MAX),
          store.eventTypes.all(),
          keys.list('', CHOICES_MAX, { customerId: owner }),
        ]);
        const shown = shownTypes(eventTypes, store.customerId);
        return { endpoints: offered, eventTypes: shown, keys: allKeys, now: clock() };
      },
      fields: webhookFields,
      layout: webhookLayout,
      adjust: (body, before) => withoutEndpoint(objectPatches(body, before, ['filter'])),
      creation: {
        title: 'New webhook',
        submit: 'Create the webhook',
        start: async ({ query }, { endpoints: offered }) => ({
          // With one endpoint there is nothing to choose.
          endpointId: query.get('endpoint') ?? (offered.length === 1 ? offered[0]?.id : '') ?? '',
          eventTypes: query.getAll('event'),
          start: true,
        }),
        respond: async (call, input) => {
          const webhook = await webhooks.create(input, call.acting);
          return webhook.mode === 'push' && call.form.has('start')
            ? started(call, webhook)
            : redirectTo(
                `/webhooks/${webhook.id}`,
                `${webhook.name} is created. ${webhook.mode === 'pull' ? 'Its reader can fetch events now.' : 'Start it when the receiver is ready.'}`,
              );
        },
      },
      change: {
        lead: 'Waiting records use the new settings. Events published before a subscription are not sent.',
      },
    }),
    pages.page({
      for: 'both',
      method: 'GET',
      path: '/webhooks/new/rule',
      role: 'administrator',
      respond: async ({ query }) => {
        const hasKey = (query.get('encryptionKeyName') ?? '') !== '';
        const partial = encryptionRule(patternsOf(query), hasKey, await store.eventTypes.all());
        const title = 'What must be encrypted';
        return { title, content: html`${pageHeader({ title })}${partial}`, partial };
      },
    }),
    ...filterPages(dependencies, patternsOf),
    pages.view('/webhooks/{id}', 'both', async (call) => {
      const listing = await found(call);
      const attempt = await testOf(call, listing);
      const test = attempt === null ? null : testSection(attempt, await urlOf(listing.webhook));
      const { id, name } = listing.webhook;
      const { content } = await readPage(call, listing, test);
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
        readPage({ ...call, now: clock() }, await found(call), null),
      );
    }),
    switching('start'),
    switching('stop'),
    pages.page({
      for: 'both',
      method: 'POST',
      path: '/webhooks/{id}/test',
      role: 'operator',
      respond: async (call) => {
        const path = `/webhooks/${pathId(call)}`;
        const attempt = await testDelivery(pathId(call), call.user.id, call.form.get('eventType') ?? undefined);
        if (!call.isPartial) return redirectTo(`${path}?test=${attempt.id}#test`);
        const url = await urlOf(await webhooks.get(pathId(call)));
        const partial = testRegion(testSection(attempt, url));
        return { title: 'Test event', content: partial, partial };
      },
      invalid: async (call, refusal) =>
        refusal.code === 'not_found'
          ? null
          : refusedTo(`/webhooks/${pathId(call)}`, refusal.inPortal ?? refusal.message),
    }),
    ...removalPages(pages, entity, { text: async (call) => lossOf(await found(call)) }),
  ];

  /** The URL of its endpoint; empty in mode `pull`, of which there are no attempts. */
  async function urlOf({ endpointId }: Webhook): Promise<string> {
    return endpointId === null ? '' : (await endpoints.get(endpointId)).url;
  }

  /** The attempt in the URL, if it is a test of this webhook. */
  async function testOf({ query }: PageCall, { webhook }: WebhookListing): Promise<AttemptRecord | null> {
    const attempt = await store.attempts.get(query.get('test') ?? '');
    return attempt?.kind === 'test' && attempt.webhookNumber === webhook.progress.webhookNumber ? attempt : null;
  }

  async function figuresOf(listing: WebhookListing): Promise<WebhookFigures> {
    const { webhookNumber } = listing.webhook.progress;
    const [dead, oldestAt, days] = await Promise.all([
      deadRecords(listing),
      store.directory.oldestWaitingAt(webhookNumber),
      dependencies.figures.days([webhookNumber]),
    ]);
    return { dead, oldestAt, day: days.get(webhookNumber) };
  }

  /** The page of a webhook, which is live. `test` is the result of a test event just sent. */
  async function readPage(call: PageCall, listing: WebhookListing, test: Html | null): Promise<LiveReading> {
    const { webhook } = listing;
    const { id, customerId, createdAt, encryptionKeyName } = webhook;
    const [figures, activity, history, key, eventTypes] = await Promise.all([
      figuresOf(listing),
      readActivity(dependencies, call.query, webhook),
      store.stateHistory.ofWebhook(id, STATES_READ),
      encryptionKeyName === null ? null : store.keys.getByName(customerId, encryptionKeyName),
      store.eventTypes.all(),
    ]);
    const samples =
      call.may('operator') && webhook.mode !== 'pull' ? samplesSection(call.csrf, webhook, eventTypes) : null;
    const audit = linkButton({ href: `/audit?target=webhook:${id}`, label: 'Audit log', kind: 'quiet' });
    const incidents = incidentsOf(history);
    const isWhole = history.length < STATES_READ && incidents.length <= STATES_SHOWN;
    const status = { listing, figures, hasPage };
    const attempts = activity.attempts.map((attempt) => attempt.id);
    const version = JSON.stringify([listing, figures, activity.series, attempts, history, key?.id]);
    const content = (): Html =>
      html`
        ${webhookHeader(call, status)}
        ${testRegion(test)}
        ${statusRegion(call, status)}
        ${webhook.mode === 'pull' ? readerSection(webhook, publicUrl()) : null}
        ${activitySections(call, webhook, activity)}
        ${samples}
        <div class="columns">
          ${settingsSection(listing, key)}
          ${historySection(incidents.slice(0, STATES_SHOWN), isWhole, createdAt, audit)}
        </div>
        ${call.may('administrator') ? removalSection(webhook) : null}
      `;
    return { version, content };
  }

  function deadRecords({ webhook: { progress } }: WebhookListing): Promise<DeadRecords> {
    return store.directory.deadRecords(progress.webhookNumber, DEAD_COUNTED_BATCHES);
  }

  /** What is deleted with the webhook. */
  async function lossOf(listing: WebhookListing): Promise<Html> {
    const dead = await deadRecords(listing);
    const { pendingRecords, webhook } = listing;
    const deadText = deadCount(dead);
    if (webhook.mode === 'pull')
      return html`
        <div class="prose">
          <p>
            This cannot be undone. The log of the webhook is deleted, with
            ${countOf(pendingRecords, 'unread record', 'no unread records')}.
          </p>
          <p>
            Its key, the event types, the same events at other webhooks, and the audit log stay. To keep everything
            and let nobody read it, stop the webhook instead.
          </p>
        </div>
      `;
    return html`
      <div class="prose">
        <p>This cannot be undone. The log of the webhook is deleted:</p>
        <ul>
          <li>
            ${
              pendingRecords === 0
                ? 'no waiting records'
                : `${countOf(pendingRecords, 'waiting record')}, which will not be sent`
            },
          </li>
          <li>${dead.records === 0 ? 'no dead records' : `${deadText} that cannot be replayed any more`},</li>
          <li>the list of its deliveries with all attempts.</li>
        </ul>
        <p>
          Its endpoint, its key, the event types, the same events at other webhooks, and the audit log stay. To keep
          everything and send nothing, stop the webhook instead.
        </p>
      </div>
    `;
  }
}
