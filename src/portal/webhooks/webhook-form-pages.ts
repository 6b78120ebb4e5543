/** The forms of a webhook: create and change it. */
import type { Webhook } from '../../domain/webhook.ts';
import { html } from '../../http/html.ts';
import { viewWebhook, webhookReader } from '../../webhooks/webhook-schema.ts';
import { madeWithout, type PageCall, type Redirect, redirectTo } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { pageHeader } from '../parts/header.ts';
import { CHOICES_MAX } from '../parts/limits.ts';
import { type Body, readForm, titlesOf } from '../record/field-table.ts';
import { objectPatches } from '../record/json-field.ts';
import { recordPages } from '../record/record-pages.ts';
import { shownTypes } from './filter-editor.ts';
import { withFormat } from './format-fields.ts';
import { requestPreviewPage } from './request-preview.ts';
import { chosenSignature, shownSignature } from './signature-fields.ts';
import { patternsOf } from './webhook-events.ts';
import { encryptionRule, webhookEntity, webhookFields, webhookLayout, withoutEndpoint } from './webhook-form.ts';
import { summaryPage } from './webhook-summary.ts';

export function webhookFormPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, store, clock } = dependencies;
  const { webhooks, keys } = services;
  return [
    ...recordPages(pages, {
      ...webhookEntity(dependencies),
      reader: webhookReader,
      choices: async (owner) => {
        const [offered, eventTypes, allKeys] = await Promise.all([
          store.directory.endpointNames(owner, CHOICES_MAX),
          shownTypes(store),
          keys.list('', CHOICES_MAX, { customerId: owner }),
        ]);
        return { endpoints: offered, eventTypes, keys: allKeys, now: clock() };
      },
      fields: webhookFields,
      layout: webhookLayout,
      adjust: (body, before) => adjusted(body, before),
      shown: (webhook) => ({ ...viewWebhook(webhook), signature: shownSignature(webhook) }),
      creation: {
        title: 'New webhook',
        submit: 'Create the webhook',
        ofOwner: ['endpointId', 'encryptionKeyName'],
        start: async ({ query }, { endpoints: offered }) => ({
          // With one endpoint there is nothing to choose.
          endpointId: query.get('endpoint') ?? (offered.length === 1 ? offered[0]?.id : '') ?? '',
          eventTypes: query.getAll('event'),
          start: true,
        }),
        respond: async (call, input) => {
          const webhook = await webhooks.create(input, call.acting);
          if (webhook.mode === 'push' && call.form.has('start')) return started(dependencies, call, webhook);
          const next =
            webhook.mode === 'pull' ? 'Its reader can fetch events now.' : 'Start it when the receiver is ready.';
          return redirectTo(`/webhooks/${webhook.id}`, `${webhook.name} was created. ${next}`);
        },
      },
      change: {
        tab: () => 'settings',
      },
    }),
    encryptionRulePage(dependencies),
    requestPreviewPage(dependencies, {
      bodyOf: (sent) => adjusted(readForm(NEW_FIELDS, sent), null),
      titles: titlesOf(NEW_FIELDS),
    }),
    summaryPage(dependencies),
  ];
}

function adjusted(body: Body, before: Webhook | null): Body {
  return withFormat(withSignature(withoutEndpoint(objectPatches(body, before, ['filter']))), before);
}

/** The fields of a new webhook, for reading a form: its choices do not matter. */
const NEW_FIELDS = webhookFields(null, { endpoints: [], eventTypes: [], keys: [], now: 0 });

/** In mode `pull`, the form of a change has no signature. */
function withSignature(body: Body): Body {
  return body.signature === undefined ? body : { ...body, signature: chosenSignature(body.signature) };
}

/** Answers whether the chosen events require encryption. The script asks while people choose. */
function encryptionRulePage({ pages, store }: SharedPageDependencies): PageRoute<'both'> {
  return pages.page('/webhooks/new/rule', 'both', 'administrator', async ({ query }) => {
    const hasKey = (query.get('encryptionKeyName') ?? '') !== '';
    const partial = encryptionRule(patternsOf(query), hasKey, await store.eventTypes.all(), await shownTypes(store));
    const title = 'What must be encrypted';
    return { title, content: html`${pageHeader({ title })}${partial}`, partial };
  });
}

/** The webhook stays if it cannot start. Its page says why. */
async function started({ services }: SharedPageDependencies, call: PageCall, { id, name }: Webhook): Promise<Redirect> {
  const path = `/webhooks/${id}`;
  try {
    await services.webhooks.start(id, call.acting);
    return redirectTo(path, `${name} was created and started.`);
  } catch (error) {
    return madeWithout(call, error, { path, made: `${name} was created`, missing: 'started' });
  }
}
