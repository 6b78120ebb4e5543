/** The section of the guide about the requests to an endpoint: their form for each webhook, and one of them as the receiver gets it. */
import { currentApiKey, type Endpoint } from '../../domain/endpoint.ts';
import { filterText } from '../../domain/filter-text.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { signsStandard } from '../../domain/webhook-format.ts';
import { type Html, html } from '../../http/html.ts';
import { caught } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { section } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { countOf } from '../parts/text.ts';
import { retriesText } from '../webhooks/format-fields.ts';
import { requestView, sampleOf } from '../webhooks/request-preview.ts';
import { authenticationText } from './authentication-fields.ts';
import { GUIDE_PATH, sendsOne } from './guide-text.ts';
import { arrivingTypes } from './receiver-code.ts';

type Form = Pick<
  Webhook,
  'format' | 'batch' | 'thin' | 'standardWebhooks' | 'signature' | 'encryptionKeyName' | 'maxBatchRecords'
>;
type Receiver = Pick<Endpoint, 'oauthTokenUrl' | 'contentEncoding' | 'authentication' | 'signatureType'>;

/** `shown` is the webhook whose request is shown; null if no webhook sends here. */
export async function arrivalSection(
  dependencies: Pick<SharedPageDependencies, 'services' | 'store' | 'clock'>,
  endpoint: Endpoint,
  webhooks: readonly Webhook[],
  shown: Webhook | null,
): Promise<Html> {
  const request = shown === null ? null : await requestOf(dependencies, endpoint, shown);
  return section({
    title: 'Requests',
    id: 'arrives',
    content: html`
      <div class="stack">
        ${webhooks.length === 0 ? html`<p class="quiet">No webhook sends to this endpoint yet.</p>` : null}
        ${webhooks.map((webhook) => arrivalOf(webhook, endpoint, webhook.id === shown?.id ? request : null))}
      </div>
    `,
  });
}

function arrivalOf(webhook: Webhook, endpoint: Endpoint, request: Html | null): Html {
  const { id, name, eventTypes, filter } = webhook;
  const condition = filter === null ? '' : `, only if ${filterText(filter)}`;
  return html`
    <div class="arrival">
      <h3><a href="/webhooks/${id}">${name}</a></h3>
      <p>
        Events: ${eventTypes.map((type, at) => html`${at === 0 ? '' : ', '}<code>${type}</code>`)}${condition}
      </p>
      ${whatArrives(webhook, endpoint)}
      <p class="hint">Time-out: ${webhook.timeoutSeconds} s. Retries: ${retriesText(webhook)}.</p>
      ${request !== null && filter !== null ? html`<p class="hint">The request is an example: the filter does not apply to it.</p>` : null}
      ${request ?? html`<p><a href="${`${GUIDE_PATH}?endpoint=${endpoint.id}&webhook=${id}#arrives`}">Show a request of ${name}</a></p>`}
    </div>
  `;
}

/** The body, who signs the request and how, and the encoding of the body. */
export function whatArrives(webhook: Form, endpoint: Receiver): Html {
  const { encryptionKeyName, signature, thin } = webhook;
  const lines = [
    bodyOf(webhook),
    ...(thin
      ? [html`It has no data: <code>url</code> leads to the event, which your program fetches with an access token.`]
      : []),
    authenticationText(endpoint.authentication, endpoint.oauthTokenUrl !== null, true),
    ...(signsStandard(webhook)
      ? [
          html`
            <code>webhook-id</code>, <code>webhook-timestamp</code> and <code>webhook-signature</code> are those of
            Standard Webhooks: its libraries verify them with
            ${endpoint.signatureType === 'ed25519' ? 'the public key' : html`<code>whsec_</code> and the secret`}.
          `,
        ]
      : []),
    ...(signature === null
      ? []
      : [html`<code>${signature.header}</code> has one more signature, made with the secret.`]),
    ...encodingOf(encryptionKeyName, endpoint.contentEncoding === 'gzip'),
  ];
  return html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function bodyOf(webhook: Form): Html {
  const { format, batch, maxBatchRecords } = webhook;
  const isOne = sendsOne(webhook);
  switch (format) {
    case 'records':
      return isOne ? html`One event in each request.` : html`Up to ${maxBatchRecords} events in each request.`;
    case 'standard':
      return html`
        One event in each request: <code>type</code>, <code>timestamp</code> and <code>data</code>, as Standard Webhooks
        has them.
      `;
    case 'cloudevents':
      return batch
        ? html`A list of up to ${countOf(maxBatchRecords, 'CloudEvent')} as JSON in each request.`
        : html`One CloudEvent as JSON in each request.`;
    case 'cloudevents-binary':
      return html`One CloudEvent in each request: its attributes are <code>ce-</code> headers, the body is the data.`;
  }
}

function encodingOf(encryptionKeyName: string | null, isCompressed: boolean): readonly Html[] {
  if (encryptionKeyName === null)
    return isCompressed ? [html`The body is compressed: <code>content-encoding: gzip</code>.`] : [];
  return [
    html`
      The body is encrypted with your key ${encryptionKeyName}: <code>x-content-encrypted: true</code>,
      <code>x-pgp-key-name</code>.
    `,
    ...(isCompressed ? [html`It is compressed before that: <code>x-original-encoding: gzip</code>.`] : []),
  ];
}

/** Made by the code that makes deliveries, for the sample of an event type that the webhook gets. */
async function requestOf(
  { services, store, clock }: Pick<SharedPageDependencies, 'services' | 'store' | 'clock'>,
  endpoint: Endpoint,
  webhook: Webhook,
): Promise<Html> {
  try {
    const keyName = webhook.encryptionKeyName;
    const key = keyName === null ? null : await store.keys.getByName(webhook.customerId, keyName);
    const types = await store.eventTypes.all();
    const sample = sampleOf(webhook.eventTypes, arrivingTypes([webhook], types));
    const request = await services.previewRequest({ webhook, endpoint, key }, sample);
    if (!endpoint.sendApiKey) return requestView(request);
    const headers = { ...request.headers, 'x-api-key': currentApiKey(endpoint, clock()).reveal() };
    return requestView({ ...request, headers }, { 'x-api-key': '(the API key above)' });
  } catch (error) {
    caught(error);
    return notice({ tone: 'caution', text: 'No request can be shown: its key is missing or cannot be used.' });
  }
}
