/** The set-up of a receiver: address, API key, secret, and code that verifies deliveries. */
import { currentApiKey, type Endpoint, mustBeVerified } from '../../domain/endpoint.ts';
import { type EventType, matchingTypes, typesFor } from '../../domain/event.ts';
import { type Html, html } from '../../http/html.ts';
import { type AssetName, readAsset, receiverPackage } from '../../kernel/assets.ts';
import { downloadList } from '../documentation/download-pages.ts';
import { type PageCall, pathId } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { type Result, resultOf } from '../frame/results.ts';
import { codePanels, copyable, definitionList, secretBox } from '../parts/details.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { notice, tags } from '../parts/mark.ts';
import { authenticationText } from './authentication-fields.ts';
import { verifyButton } from './challenge-section.ts';
import { newWebhookOf } from './endpoint-detail.ts';
import { GUIDE_PATH, nodeFunctions } from './guide-text.ts';
import { withTypes } from './receiver-types.ts';

/** `/endpoints/{id}/receiver`: the same values later, without the secret. */
export function receiverPage(dependencies: SharedPageDependencies): PageRoute<'both'> {
  const { pages, services, egressAddresses } = dependencies;
  const { endpoints } = services;
  return pages.view('/endpoints/{id}/receiver', 'both', async (call) => {
    const endpoint = await endpoints.get(pathId(call));
    const eventTypes = await receivedTypes(dependencies, endpoint.id);
    const title = 'Receiver set-up';
    const crumbs = [
      { href: '/endpoints', label: 'Endpoints' },
      { href: `/endpoints/${endpoint.id}`, label: endpoint.name },
    ];
    return {
      title,
      content: html`
        ${pageHeader({
          title,
          crumbs,
          actions: [
            linkButton({ href: `${GUIDE_PATH}?endpoint=${endpoint.id}`, label: 'The whole guide', icon: 'book' }),
          ],
        })}
        ${handOver(call, endpoint, {
          title: 'For the receiver',
          apiKey: apiKeyOf(call, endpoint),
          secret: null,
          egressAddresses,
        })}
        ${codeSection(call, endpoint, eventTypes)}
      `,
    };
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
  /** The event types that it gets. */
  readonly eventTypes: readonly EventType[];
  readonly egressAddresses: readonly string[];
};

/** The page after the creation of an endpoint: the steps to the first delivery. It shows the secret once. */
export function createdResult(
  call: PageCall,
  endpoint: Endpoint,
  { isMade, webhook: made, eventTypes, egressAddresses }: Creation,
): Result {
  const { id, name } = endpoint;
  const title = `${name} is created`;
  // The people of a customer write the receiver themselves.
  const isOwn = call.session.customerId !== null;
  const header = pageHeader({
    title,
    crumbs: [{ href: '/endpoints', label: 'Endpoints' }],
    lead: `${isOwn ? 'Put the secret into your program' : 'Hand over the secret'}${
      made === null ? ', verify ownership, then choose the events' : ' and verify ownership'
    }.`,
    actions: [linkButton({ href: `/endpoints/${id}`, label: 'Go to the endpoint' })],
  });
  const webhook = made !== null && 'id' in made ? madeSection(made) : webhookSection(endpoint, made);
  const verify = verifyStep(call, endpoint, isMade);
  return resultOf(title, (showing) => {
    const values = handOver(call, endpoint, {
      title: isOwn ? '1. Put the secret into your program' : '1. Hand over the secret and the address',
      apiKey:
        showing === 'first'
          ? apiKeyOf(call, endpoint)
          : html`<a href="/endpoints/${id}#credentials">on the page of the endpoint</a>`,
      secret: isMade ? secretBox(secretOf(endpoint), showing) : null,
      egressAddresses,
    });
    return html`${header}${values}${verify}${webhook}${codeSection(call, endpoint, eventTypes)}`;
  });
}

function webhookSection(endpoint: Endpoint, failed: { readonly problem: string } | null): Html {
  const { enabled } = endpoint;
  return section({
    title: '3. Create a webhook',
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

function madeSection({ id, name, eventTypes, isStarted }: Extract<MadeWebhook, { id: string }>): Html {
  return section({
    title: isStarted ? '3. Send a test event' : '3. Start the webhook',
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
  return copyable(currentApiKey(endpoint, now).reveal(), 'API key');
}

function secretOf({ id, secret }: Endpoint) {
  return {
    label: 'Secret',
    value: secret.reveal(),
    note: 'The receiver verifies signatures with it. It is stored encrypted and cannot be shown again. If it is lost, rotate it.',
    renewal: secretRenewal(id),
  };
}

/** Where the secret of an endpoint is replaced. */
export function secretRenewal(id: string) {
  return { href: `/endpoints/${id}/rotate-secret`, label: 'create a new secret' };
}

function verifyStep(call: PageCall, endpoint: Endpoint, isMade: boolean): Html {
  const { id, verified } = endpoint;
  const isOpen = mustBeVerified(endpoint) && !verified;
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
    title: '2. Verify ownership',
    lead: 'A challenge is sent, and the receiver signs it with the secret. The code below answers challenges.',
    actions: [call.may('operator') ? verifyButton(call, endpoint, isOpen) : null],
    content: state,
  });
}

type HandedOver = {
  readonly title: string;
  readonly apiKey: Html;
  /** Null if it was given by the user, or was shown before on another page. */
  readonly secret: Html | null;
  readonly egressAddresses: readonly string[];
};

function handOver(
  { session: { customerId } }: PageCall,
  endpoint: Endpoint,
  { title, apiKey, secret, egressAddresses }: HandedOver,
): Html {
  return section({
    title,
    lead:
      customerId === null
        ? 'The receiver needs these values. Pass the secret on separately, and never by email.'
        : 'Put these values into your program. Keep the secret out of source code and email.',
    content: html`
      <div class="stack">
        ${secret}
        ${definitionList([
          ['Address', copyable(endpoint.url, 'address'), 'POST requests are sent here, over HTTPS.'],
          ...(endpoint.sendApiKey
            ? [['API key', apiKey, 'Sent in X-Api-Key with every request: it tells who calls.'] as const]
            : []),
          ...(secret === null
            ? [['Secret', html`<span class="quiet">shown once, at its creation</span>`] as const]
            : []),
          ['Authentication', authenticationText(endpoint.authentication, endpoint.oauthTokenUrl !== null)],
          ...addressRows(egressAddresses),
          ['Response', 'Any 2xx status, as soon as the events are stored. Any other response is retried.'],
        ])}
      </div>
    `,
  });
}

/** For the receiver's firewall; none if the operator does not say it. */
export function addressRows(egressAddresses: readonly string[]) {
  if (egressAddresses.length === 0) return [];
  const items = egressAddresses.map((address) => html`<li>${copyable(address, 'source address')}</li>`);
  return [
    ['Source addresses', html`<ul>${items}</ul>`, 'Requests come from these: allow them in a firewall.'] as const,
  ];
}

function codeSection(call: PageCall, { oauthTokenUrl }: Endpoint, eventTypes: readonly EventType[]): Html | null {
  const isCustomers = call.session.customerId !== null;
  return oauthTokenUrl !== null ? null : codeForReceivers({ title: 'Code for the receiver', isCustomers, eventTypes });
}

/** The event types that webhooks to an endpoint subscribe to; without one all that could be. */
export async function receivedTypes({ store }: Pick<SharedPageDependencies, 'store'>, endpointId: string | null) {
  const [all, webhooks] = await Promise.all([
    store.eventTypes.all(),
    endpointId === null ? [] : store.webhooks.ofEndpoint(endpointId),
  ]);
  const patterns = webhooks.flatMap(({ eventTypes }) => eventTypes);
  const known = typesFor(store.customerId ?? webhooks[0]?.customerId ?? null, all);
  const subscribed = known.filter((type) => patterns.some((pattern) => matchingTypes(pattern, [type]).length > 0));
  return subscribed.length === 0 ? known : subscribed;
}

type ReceiverCode = {
  readonly title: string;
  readonly id?: string;
  readonly isCustomers: boolean;
  readonly eventTypes: readonly EventType[];
};

/** Code that verifies deliveries, in every language, and what can be downloaded. */
export function codeForReceivers({ title, id, isCustomers, eventTypes }: ReceiverCode): Html {
  const code = receiverCode(eventTypes);
  return section({
    title,
    id,
    lead: html`
      For TypeScript and JavaScript, the package <code>sallyport-receiver</code> does everything. <em>Node only</em>
      needs no package. For other languages this is the verification, and the files below are whole programs.
    `,
    content: html`<div class="stack">${codePanels('Verify a delivery', code)}${downloadList(isCustomers)}</div>`,
  });
}

type CodeExample = { readonly label: string; readonly code: string };

const PROGRAMS: readonly (readonly [label: string, asset: AssetName, excerpt: (text: string) => string])[] = [
  ['TypeScript', 'receivers/javascript', firstExample],
  ['JavaScript', 'receivers/javascript', firstExample],
  ['Node only', 'hand-out', nodeFunctions],
  ['Python', 'receivers/python', markedPart],
  ['Go', 'receivers/go', markedPart],
  ['Java', 'receivers/java', markedPart],
  ['C#', 'receivers/csharp', markedPart],
  ['PHP', 'receivers/php', markedPart],
  ['Ruby', 'receivers/ruby', markedPart],
];

let made: readonly CodeExample[] | null = null;

/** What needs the package comes first if it can be had here. The example has the data of these event types. */
export function receiverCode(
  eventTypes: readonly EventType[],
  hasPackage = receiverPackage() !== null,
): readonly CodeExample[] {
  // Read at the first use.
  made ??= PROGRAMS.map(([label, asset, excerpt]) => ({ label, code: excerpt(readAsset(asset)) }));
  const all = made.map(({ label, code }) => {
    if (label === 'TypeScript') return { label, code: withTypes(code, eventTypes) };
    return label === 'JavaScript' ? { label, code: withoutTypes(withTypes(code, eventTypes)) } : { label, code };
  });
  return hasPackage ? all : all.toSorted((a, b) => Number(b.label === 'Node only') - Number(a.label === 'Node only'));
}

/** The lines between `verify:begin` and `verify:end`, without their common indent. */
export function markedPart(text: string): string {
  const lines = text.split('\n');
  const begin = lines.findIndex((line) => line.includes('verify:begin'));
  const end = lines.findIndex((line) => line.includes('verify:end'));
  const part = lines.slice(begin + 1, end);
  const indents = part.filter((line) => line.trim() !== '').map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  const indent = Math.min(...indents);
  return part
    .map((line) => line.slice(indent))
    .join('\n')
    .trim();
}

/** The first example of a documentation page: the one for `node:http`. */
export function firstExample(markdown: string): string {
  return /```ts\n([\s\S]*?)\n```/.exec(markdown)?.[1] ?? '';
}

/** The example in JavaScript. */
function withoutTypes(code: string): string {
  return code
    .replaceAll(/^import type .*\n/gm, '')
    .replace(/\/\*\* The event types [^\n]*\n/, '')
    .replace(/^type Events = \{\n[\s\S]*?^\};\n\n/m, '')
    .replaceAll(/^type .*\n\n?/gm, '')
    .replaceAll(/(createReceiver)<\w+>/g, '$1')
    .replaceAll(/\((\S+) as \w+\)/g, '$1');
}
