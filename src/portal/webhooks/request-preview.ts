/** The preview in the form of a webhook: the request that its receiver gets, for a sample, and the same as a curl command. */

import { randomUUID } from 'node:crypto';
import type { PreviewedRequest } from '../../delivery/trials/request-preview.ts';
import { type EventType, matchingTypes } from '../../domain/event.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import { indentedJson } from '../../kernel/json-text.ts';
import { signatureOf } from '../../webhooks/signature-schema.ts';
import { webhookReader } from '../../webhooks/webhook-schema.ts';
import { configurationOf } from '../../webhooks/webhooks.ts';
import { caught } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { codeBlock, copyButton } from '../parts/details.ts';
import { problemText } from '../parts/fields.ts';
import { previewButton } from '../parts/form.ts';
import { pageHeader } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { countOf, reasonOf, sentence } from '../parts/text.ts';
import type { Body } from '../record/field-table.ts';

const PREVIEW = '/webhooks/new/request-preview';

export const REQUEST_PREVIEW: Html = html`
  <div class="stack">
    <div class="buttons">
      ${previewButton({ action: PREVIEW, target: 'request-preview', label: 'Show the request' })}
    </div>
    <div id="request-preview" aria-live="polite"></div>
  </div>
`;

type FormOfWebhook = {
  /** The body of a creation that the form would send. */
  bodyOf(sent: URLSearchParams): Body;
  /** The names of its fields, for messages. */
  readonly titles: Readonly<Record<string, string>>;
};

export function requestPreviewPage(
  dependencies: SharedPageDependencies,
  { bodyOf, titles }: FormOfWebhook,
): PageRoute<'both'> {
  return dependencies.pages.act(PREVIEW, 'both', 'administrator', async ({ form }) => {
    const partial = await previewOf(dependencies, bodyOf(form), titles);
    const title = 'The request that the receiver gets';
    const lead = 'Go back in your browser to the form: it has everything that you entered.';
    return { title, content: html`${pageHeader({ title, lead })}${partial}`, partial };
  });
}

/** Returns the preview or the problems of the form. */
async function previewOf(
  { services, store, clock }: SharedPageDependencies,
  body: Body,
  titles: FormOfWebhook['titles'],
): Promise<Html> {
  try {
    if (body.mode === 'pull') return problem('In mode pull nothing is sent: a reader fetches the events.');
    const types = await store.eventTypes.all();
    // Until events are chosen: one of the customer's, or a test event.
    const named = { name: 'preview', eventTypes: [exampleOf(types)?.name ?? 'webhook.test'] };
    const isNamed = Array.isArray(body.eventTypes) && body.eventTypes.length > 0;
    const { mode: _, endpointId: asked, ...fields } = body;
    const endpointId = typeof asked === 'string' && asked !== '' ? asked : null;
    const given = {
      ...named,
      ...fields,
      endpointId,
      ...(isNamed ? {} : { eventTypes: named.eventTypes }),
      name: named.name,
    };
    const input = webhookReader.create(given);
    const endpoint = endpointId === null ? null : await services.endpoints.get(endpointId);
    const customerId = endpoint === null ? store.customerId : endpoint.customerId;
    const keyName = input.encryptionKeyName;
    const key = keyName === null ? null : await store.keys.getByName(customerId, keyName);
    if (keyName !== null && key === null) return problem('There is no such key: choose another one.');
    const now = clock();
    const stamp = { id: randomUUID(), createdAt: now, updatedAt: now };
    const signature = input.signature === null ? null : signatureOf(input.signature);
    const webhook: Omit<Webhook, 'progress'> = configurationOf({ ...input, customerId }, signature, stamp);
    const request = await services.previewRequest({ webhook, endpoint, key }, sampleOf(input.eventTypes, types));
    if (endpoint !== null) return requestView(request);
    return html`
      <div class="stack">
        <p class="hint">No endpoint is chosen yet: its address and its credentials are examples.</p>
        ${requestView(request)}
      </div>
    `;
  } catch (error) {
    const refusal = caught(error);
    const [first] = refusal.details ?? [];
    return problem(
      sentence(
        first === undefined ? reasonOf(refusal) : `${titles[first.field] ?? first.field} ${problemText(first.problem)}`,
      ),
    );
  }
}

/** The first type of the service's own events, which customers may see, rather one with a sample. */
function exampleOf(types: readonly EventType[]): EventType | undefined {
  const own = types.filter((type) => type.public && !type.builtIn && !type.deprecated && !type.encryptionRequired);
  return own.find(({ sample }) => sample !== null) ?? own[0];
}

function problem(text: string): Html {
  return notice({ tone: 'caution', text });
}

/** The sample of the first type of these patterns that has one, or data that is made up. */
export function sampleOf(patterns: readonly string[], types: readonly EventType[]): { type: string; data: Body } {
  const subscribed = patterns.flatMap((pattern) => matchingTypes(pattern, types));
  const sampled = subscribed.find(({ sample }) => sample !== null) ?? subscribed[0];
  const data = { ...(sampled?.sample ?? { id: 17, note: 'an example: the event type has no sample' }) };
  return { type: sampled?.name ?? 'order.created', data };
}

/** `masked`: the texts in place of the values of headers. The command has the values. */
export function requestView(request: PreviewedRequest, masked: PreviewedRequest['headers'] = {}): Html {
  const { url, headers, clear, isEncoded, bodyBytes } = request;
  const head = Object.entries({ ...headers, ...masked }).map(([name, value]) => `${name}: ${value}`);
  const sent = isEncoded ? `Body, before it is compressed and encrypted to ${countOf(bodyBytes, 'byte')}` : 'Body';
  const indented = indentedJson(clear);
  const body = indented === clear ? sent : `${sent} (indented here, sent as one line)`;
  return html`
    <div class="stack">
      ${codeBlock({ label: 'Request', code: [`POST ${url}`, ...head].join('\n') })}
      ${clear === '' ? html`<p class="hint">The body is empty.</p>` : codeBlock({ label: body, code: indented })}
      ${
        isEncoded
          ? html`<p class="hint">A compressed or encrypted body cannot be part of a curl command.</p>`
          : html`<div class="buttons">${copyButton(previewCommand(request), 'Copy as curl', 'Copy as curl')}</div>`
      }
      <p class="hint">
        ${head.some((line) => line.includes('[secret]')) ? 'Secrets are not shown. ' : null}The signature is valid for
        this moment only.
      </p>
    </div>
  `;
}

/** The request as a command for a POSIX shell. Headers that curl sets itself are left out. */
export function previewCommand({ url, headers, clear }: Pick<PreviewedRequest, 'url' | 'headers' | 'clear'>): string {
  const lines = Object.entries(headers).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`);
  return [`curl -X POST ${quoted(url)}`, ...lines, `  --data-binary ${quoted(clear)}`].join(' \\\n');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
