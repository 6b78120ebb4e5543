/** `/webhooks/new`, and the change of a webhook: one form, and what comes of it. */

import { html } from '../../http/html.ts';
import { CHOICES_MAX } from '../../kernel/limits/portal.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Webhook } from '../../webhooks/webhook.ts';
import { webhookReader } from '../../webhooks/webhook-schema.ts';
import { type PageCall, type Redirect, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { checkbox } from '../parts/choices.ts';
import { form } from '../parts/form.ts';
import { type FormState, refusedForm } from '../parts/form-state.ts';
import { pageHeader } from '../parts/header.ts';
import { sentence } from '../parts/sentence.ts';
import { recordForm } from '../record-form.ts';
import { encryptionRule } from './events.ts';
import {
  newWebhookForm,
  WEBHOOK_LABELS,
  type WebhookChoices,
  webhookFields,
  webhookForm,
  webhookSettings,
} from './form.ts';
import { chosenPatterns, patternsOf, webhookBody, webhookPatchOf } from './input.ts';

export function webhookFormPages({ pages, services: { webhooks, keys }, store }: PageDependencies): PageRoute[] {
  const readChoices = async (): Promise<WebhookChoices> => {
    const [endpoints, eventTypes, allKeys] = await Promise.all([
      store.directory.endpointNames(CHOICES_MAX),
      store.eventTypes.all(),
      keys.list('', CHOICES_MAX),
    ]);
    return { endpoints, eventTypes, keys: allKeys };
  };
  const compared = async (fields: URLSearchParams) => {
    const { endpointId, ...patch } = webhookPatchOf(fields);
    const endpoint = (await store.directory.endpointNames(CHOICES_MAX)).find(({ id }) => id === endpointId);
    const customHeaders = patch.customHeaders.map(({ name, value }) => `${name}: ${value}`);
    return { ...patch, endpointId: endpoint?.name ?? endpointId, customHeaders };
  };

  /** Created it is in any case; what keeps it from starting is said on its page. */
  const started = async (call: PageCall, { id, name }: Webhook): Promise<Redirect> => {
    const path = `/webhooks/${id}`;
    try {
      await webhooks.start(id, call.acting);
      return redirectTo(path, `${name} is created and started.`);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return {
        redirect: path,
        flash: { tone: 'negative', text: `${name} is created, and not started. ${sentence(error.message)}` },
      };
    }
  };

  return [
    ...pages.form('/webhooks/new', {
      show: async (call) => newView(call, newWebhookForm(call.query.get('endpoint') ?? ''), await readChoices()),
      respond: async (call) => {
        const webhook = await webhooks.create(webhookReader.create(webhookBody(call.form)), call.acting);
        return call.form.has('start')
          ? started(call, webhook)
          : redirectTo(`/webhooks/${webhook.id}`, `${webhook.name} is created. Start it when the receiver is ready.`);
      },
      invalid: async (call, refusal) => newView(call, refusedForm(call.form, refusal), await readChoices()),
    }),
    pages.page({
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
    ...pages.form(
      '/webhooks/{id}/edit',
      recordForm({
        administration: webhooks,
        settings: webhookSettings,
        fill: async (webhook) => webhookForm(webhook, await store.eventTypes.all()),
        view: async (call, webhook, state) => changeView(call, webhook, state, await readChoices()),
        compared,
        respond: async ({ form: typed, acting }, before) => {
          const { id, name } = await webhooks.patch(before.id, webhookReader.patch(webhookPatchOf(typed)), acting);
          return redirectTo(`/webhooks/${id}`, `${name} is saved.`);
        },
      }),
    ),
  ];
}

/** What a form chooses, whether it was typed or is what stands now. */
function patternsIn(state: FormState): string[] {
  return chosenPatterns(state.values('eventTypes'), state.value('morePatterns'));
}

function newView(call: PageCall, state: FormState, choices: WebhookChoices): View {
  const title = 'New webhook';
  const start = checkbox(state, {
    name: 'start',
    label: 'Start it at once',
    hint: 'Otherwise what happens waits until you do.',
  });
  const content = html`${pageHeader({ title, crumbs: [{ href: '/webhooks', label: 'Webhooks' }] })}${form({
    action: '/webhooks/new',
    csrf: call.csrf,
    form: state,
    content: html`${webhookFields(state, choices, patternsIn(state), call.now)}${start}`,
    submit: 'Create the webhook',
    cancel: '/webhooks',
    labels: WEBHOOK_LABELS,
  })}`;
  return { title, content };
}

function changeView(call: PageCall, { id, name }: Webhook, state: FormState, choices: WebhookChoices): View {
  const title = `Change ${name}`;
  const path = `/webhooks/${id}`;
  const content = html`${pageHeader({
    title,
    crumbs: [
      { href: '/webhooks', label: 'Webhooks' },
      { href: path, label: name },
    ],
    lead: 'What waits goes out with the new settings. Events that were not subscribed to before are not made up for.',
  })}${form({
    action: `${path}/edit`,
    csrf: call.csrf,
    form: state,
    content: webhookFields(state, choices, patternsIn(state), call.now),
    submit: 'Save',
    cancel: path,
    labels: WEBHOOK_LABELS,
  })}`;
  return { title, content };
}
