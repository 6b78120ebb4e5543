/** The set-up of a receiver: address, API key, secret, and code that verifies deliveries. */
import { currentApiKey, type Endpoint, isUnverified, mustBeVerified } from '../../domain/endpoint.ts';
import type { EventType } from '../../domain/event.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import { downloadList } from '../documentation/download-pages.ts';
import { type PageCall, pathId } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { type Result, resultOf } from '../frame/results.ts';
import { codeBlock, copyable, definitionList, maskedValue, programPanels, secretBox } from '../parts/details.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { notice, tags } from '../parts/mark.ts';
import { ownedCrumbs, ownedName, readOwner } from '../record/owner.ts';
import { formatText } from '../webhooks/format-fields.ts';
import { authenticationText } from './authentication-fields.ts';
import { verifyButton } from './challenge-section.ts';
import { newWebhookOf } from './endpoint-detail.ts';
import { areNeverSentAgain, GUIDE_PATH } from './guide-text.ts';
import { arrivingTypes, hasReceiverPackage, receiverCode } from './receiver-code.ts';

export const ENDPOINTS = { href: '/endpoints', label: 'Endpoints' };

/** `/endpoints/{id}/receiver`: the same values later, without the secret. */
export function receiverPage({
  pages,
  services: { endpoints },
  store,
  egressAddresses,
}: SharedPageDependencies): PageRoute<'both'> {
  return pages.view('/endpoints/{id}/receiver', 'both', async (call) => {
    const endpoint = await endpoints.get(pathId(call));
    const [owner, webhooks, all] = await Promise.all([
      readOwner(store, endpoint),
      store.webhooks.ofEndpoint(endpoint.id),
      store.eventTypes.all(),
    ]);
    const title = `Receiver set-up of ${ownedName(endpoint.name, owner)}`;
    const crumbs = ownedCrumbs(ENDPOINTS, owner, { href: `/endpoints/${endpoint.id}`, label: endpoint.name });
    return {
      title,
      content: html`
        ${pageHeader({
          title,
          crumbs,
          actions: [
            linkButton({ href: `${GUIDE_PATH}?endpoint=${endpoint.id}`, label: 'Open the guide', icon: 'book' }),
          ],
        })}
        ${handOver(call, endpoint, {
          title: 'For the receiver',
          apiKey: apiKeyOf(call, endpoint),
          secret: null,
          egressAddresses,
          webhooks,
        })}
        ${codeSection(endpoint, arrivingTypes(webhooks, all))}
        ${call.may('operator') ? tryOut(call, endpoint, webhooks) : null}
      `,
    };
  });
}

/** The last step: a challenge, or a test event through one of the webhooks. */
function tryOut(call: PageCall, endpoint: Endpoint, webhooks: readonly Webhook[]): Html {
  return section({
    title: 'Try it out',
    content: html`
      <div class="buttons">
        ${verifyButton(call, endpoint, isUnverified(endpoint) ? 'primary' : 'plain')}
        ${
          endpoint.enabled
            ? webhooks.map(({ id, name }) =>
                linkButton({ href: `/webhooks/${id}#samples`, label: `Test event through ${name}`, icon: 'send' }),
              )
            : null
        }
      </div>
    `,
  });
}

/** The webhook that was created with an endpoint, or why it was not. */
export type MadeWebhook =
  | { readonly id: string; readonly name: string; readonly eventTypes: readonly string[]; readonly isStarted: boolean }
  | { readonly problem: string };

/** `isMade`: the secret was generated. `webhook` is null if no events were chosen. */
type Creation = {
  readonly isMade: boolean;
  readonly webhook: MadeWebhook | null;
  readonly owner: OwnerName | null;
  readonly eventTypes: readonly EventType[];
  readonly egressAddresses: readonly string[];
};

/** The page after the creation of an endpoint: the steps to the first delivery. It shows the secret once. */
export function createdResult(
  call: PageCall,
  endpoint: Endpoint,
  { isMade, webhook: made, owner, eventTypes, egressAddresses }: Creation,
): Result {
  const { id, name } = endpoint;
  const title = `${ownedName(name, owner)} is created`;
  // The people of a customer write the receiver themselves.
  const isOwn = call.session.customerId !== null;
  const must = mustBeVerified(endpoint);
  const todo = [
    isOwn ? 'Put the secret into your program' : 'Hand over the secret',
    ...(isUnverified(endpoint) ? ['verify ownership'] : []),
  ];
  const header = pageHeader({
    title,
    crumbs: ownedCrumbs(ENDPOINTS, owner, { href: `/endpoints/${id}`, label: name }),
    lead: `${todo.join(', ')}, then ${lastStep(made)}.`,
    actions: [linkButton({ href: `/endpoints/${id}`, label: 'Go to the endpoint' })],
  });
  // Someone who writes the receiver needs a program that runs before a challenge can pass.
  const start = isOwn && endpoint.oauthTokenUrl === null ? 2 : 1;
  const step = start + (must ? 2 : 1);
  const webhook = made !== null && 'id' in made ? madeSection(made, step) : webhookSection(endpoint, made, step);
  const verify = verifyStep(call, endpoint, { isMade, step: start + 1 });
  const patterns = made !== null && 'id' in made ? made.eventTypes : [];
  const types = arrivingTypes([{ customerId: endpoint.customerId, eventTypes: patterns }], eventTypes);
  return resultOf(title, (showing) => {
    const values = handOver(call, endpoint, {
      title: isOwn ? '1. Put the secret into your program' : '1. Hand over the secret and the address',
      apiKey:
        showing === 'first'
          ? apiKeyOf(call, endpoint)
          : html`<a href="/endpoints/${id}/settings#credentials">on the page of the endpoint</a>`,
      secret: isMade
        ? html`${secretBox(secretOf(endpoint), showing)}${showing === 'first' ? environmentOf(call, endpoint) : null}`
        : null,
      egressAddresses,
      webhooks: [],
    });
    const code = codeSection(endpoint, types, start === 2 ? '2. Start your program' : CODE_TITLE);
    const steps = must ? html`${verify}${webhook}` : webhook;
    const shown = start === 2 ? html`${values}${code}${steps}` : html`${values}${steps}${code}`;
    return html`${header}${shown}${must ? null : verify}`;
  });
}

/** The values as the programs read them, to copy into a shell. The secret was generated, so it has no quotes. */
function environmentOf({ now }: PageCall, endpoint: Endpoint): Html {
  const key = currentApiKey(endpoint, now).reveal();
  return codeBlock({
    label: 'For the environment of the program',
    code: `export WEBHOOK_SECRETS='${endpoint.secret.reveal()}'${endpoint.sendApiKey ? ` WEBHOOK_API_KEYS='${key}'` : ''}`,
  });
}

function lastStep(made: MadeWebhook | null): string {
  if (made === null) return 'choose the events';
  if ('problem' in made) return 'create a webhook';
  return made.isStarted ? 'send a test event' : 'start the webhook';
}

function webhookSection(endpoint: Endpoint, failed: { readonly problem: string } | null, step: number): Html {
  const { enabled } = endpoint;
  return section({
    title: `${step}. Create a webhook`,
    lead: 'It says which events go to this endpoint.',
    actions: [
      linkButton({
        href: newWebhookOf(endpoint),
        label: 'Create a webhook',
        kind: enabled ? 'primary' : 'plain',
        icon: 'next',
      }),
    ],
    content: html`
      ${failed === null ? null : notice({ tone: 'caution', title: 'No webhook was created.', text: failed.problem })}
      <p class="hint">
        ${enabled ? 'Send a test event afterwards.' : 'You can create it now. It starts once ownership is verified.'}
      </p>
    `,
  });
}

function madeSection({ id, name, eventTypes, isStarted }: Extract<MadeWebhook, { id: string }>, step: number): Html {
  return section({
    title: isStarted ? `${step}. Send a test event` : `${step}. Start the webhook`,
    lead: html`The webhook <a href="/webhooks/${id}">${name}</a> sends these events here:`,
    actions: [linkButton({ href: `/webhooks/${id}`, label: 'Go to the webhook', icon: 'next' })],
    content: html`
      ${tags(eventTypes)}
      <p class="hint">
        ${
          isStarted
            ? 'It is started. Its page sends a test event.'
            : 'Its events wait. Once ownership is verified, the page of the endpoint has a button that starts it.'
        }
      </p>
    `,
  });
}

function apiKeyOf({ now }: PageCall, endpoint: Endpoint): Html {
  return maskedValue(currentApiKey(endpoint, now).reveal(), 'API key');
}

function secretOf({ id, secret }: Endpoint) {
  return {
    label: 'Secret',
    value: secret.reveal(),
    note: 'The receiver verifies signatures with it. It is stored encrypted and cannot be shown again. If it is lost, create a new one.',
    renewal: secretRenewal(id),
  };
}

/** Where the secret of an endpoint is replaced. */
export function secretRenewal(id: string) {
  return { href: `/endpoints/${id}/rotate-secret`, label: 'create a new secret' };
}

type VerifyStep = { readonly isMade: boolean; readonly step: number };

function verifyStep(call: PageCall, endpoint: Endpoint, { isMade, step }: VerifyStep): Html {
  const { id, verified } = endpoint;
  const isOpen = isUnverified(endpoint);
  const state = !mustBeVerified(endpoint)
    ? html`<p class="hint">Optional for this endpoint: it is enabled already.</p>`
    : verified
      ? notice({ tone: 'positive', text: 'Ownership is verified, and the endpoint is enabled.' })
      : notice({
          tone: 'info',
          title: 'The endpoint is disabled until ownership is verified.',
          text: isMade
            ? 'Wait until the receiver has the secret, then press “Verify now”.'
            : html`
              The first challenge failed. <a href="/endpoints/${id}#challenge">See the response</a>, then press
              “Verify now”.
            `,
        });
  return section({
    title: mustBeVerified(endpoint) ? `${step}. Verify ownership` : 'Verify ownership',
    lead: html`
      A challenge is sent, and the receiver signs it with the secret. The code on this page responds to challenges.
      <a href="${GUIDE_PATH}?endpoint=${id}#make-it-reachable-over-https">Make it reachable over HTTPS</a> first, at the address of the
      endpoint.
    `,
    actions: [call.may('operator') ? verifyButton(call, endpoint, isOpen ? 'primary' : 'plain') : null],
    content: state,
  });
}

type HandedOver = {
  readonly title: string;
  readonly apiKey: Html;
  /** Null if it was given by the user, or was shown before on another page. */
  readonly secret: Html | null;
  readonly egressAddresses: readonly string[];
  /** That send to it: what arrives depends on them. */
  readonly webhooks: readonly Webhook[];
};

/** The text of the pages for receivers about a secret that they cannot show. */
export function lostSecretText({ may }: PageCall, { id }: Endpoint): Html {
  const { href, label } = secretRenewal(id);
  return html`
    Shown only when it is made. If it is lost,
    ${may('administrator') ? html`<a href="${href}">${label}</a>` : 'an administrator creates a new one'}.
  `;
}

function handOver(call: PageCall, endpoint: Endpoint, shown: HandedOver): Html {
  const { title, apiKey, secret, egressAddresses, webhooks } = shown;
  return section({
    title,
    lead:
      call.session.customerId === null
        ? 'The receiver needs these values. Pass the secret on separately, and never by email.'
        : 'Put these values into your program. Keep the secret out of source code and email.',
    content: html`
      <div class="stack">
        ${secret}
        ${definitionList([
          ['Address', copyable(endpoint.url, 'address'), 'POST requests are sent here, over HTTPS.'],
          ...(endpoint.sendApiKey
            ? [['API key', apiKey, 'In the header x-api-key of every request: it tells who calls.'] as const]
            : []),
          ...(secret === null ? [['Secret', lostSecretText(call, endpoint)] as const] : []),
          ['Authentication', authenticationText(endpoint.authentication, endpoint.oauthTokenUrl !== null)],
          ...formatRows(webhooks),
          ...addressRows(egressAddresses),
          [
            'Response',
            `Any 2xx status, as soon as the events are stored. After any other response, or none, ${
              areNeverSentAgain(webhooks) ? 'the events are dead' : 'the request is sent again'
            }.`,
          ],
        ])}
      </div>
    `,
  });
}

/** The format of each webhook, or of all if they have the same. */
function formatRows(webhooks: readonly Webhook[]) {
  const formats = Map.groupBy(webhooks, formatText);
  if (formats.size === 0) return [];
  const [only = null] = formats.keys();
  const lines = [...formats].map(([format, of]) => html`<li>${format}: ${of.map(({ name }) => name).join(', ')}</li>`);
  return [['Format', formats.size === 1 ? only : html`<ul>${lines}</ul>`] as const];
}

/** For the receiver's firewall; none if the operator does not say it. */
export function addressRows(egressAddresses: readonly string[]) {
  if (egressAddresses.length === 0) return [];
  const items = egressAddresses.map((address) => html`<li>${copyable(address, 'source address')}</li>`);
  return [
    ['Source addresses', html`<ul>${items}</ul>`, 'Requests come from these: allow them in a firewall.'] as const,
  ];
}

const CODE_TITLE = 'Code for the receiver';

function codeSection(
  { oauthTokenUrl }: Endpoint,
  types: readonly EventType[],
  title: string = CODE_TITLE,
): Html | null {
  return oauthTokenUrl !== null ? null : codeForReceivers(types, { title });
}

/**
 * Code that verifies deliveries, in every language, and what can be downloaded. `types`: the event types that arrive; none if they are not
 * known.
 */
export function codeForReceivers(
  types: readonly EventType[],
  { title, id }: { readonly title: string; readonly id?: string },
): Html {
  return section({
    title,
    id,
    lead: hasReceiverPackage()
      ? html`
        The code below verifies a delivery. In TypeScript and JavaScript it is a whole program, with the package
        <code>sallyport-receiver</code>. For other languages, whole programs are among the downloads below.
      `
      : html`
        The code below verifies a delivery. It needs no packages. For everything else, take a whole program from the
        downloads below.
      `,
    content: html`
      <div class="stack">
        ${programPanels('Verify a delivery', receiverCode(types))}${downloadList()}
      </div>
    `,
  });
}
