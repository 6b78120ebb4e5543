/** `/endpoints/{id}`: the state of an endpoint, its last challenge, its credentials, its OAuth settings and its webhooks. */
import type { OauthTest } from '../../delivery/oauth.ts';
import {
  type Authentication,
  currentApiKey,
  currentAuthentication,
  type Endpoint,
  mustBeVerified,
  publicKeys,
  type RequestHeader,
  signingSecretCreatedAt,
} from '../../domain/endpoint.ts';
import { authenticationHeader } from '../../domain/endpoint-headers.ts';
import { EXPIRY_WARNING_MS } from '../../domain/limits.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { type EndpointWebhook, NO_USES, type Use, type Uses } from '../../store/port/directory.ts';
import { PUBLIC_KEY_PREFIX } from '../../wire/ed25519.ts';
import type { PageCall, View } from '../frame/call.ts';
import { operatorName } from '../parts/brand.ts';
import { copyable, type Definition, definitionList } from '../parts/details.ts';
import { actionButton, buttonRow, linkButton, pageHeader, section } from '../parts/header.ts';
import { failingFacts } from '../parts/health.ts';
import { emptyState, table, withQuery } from '../parts/list.ts';
import { notice, stateBadge, type Tone } from '../parts/mark.ts';
import { countOf, lengthText, relativeTime, time } from '../parts/text.ts';
import { authenticationText } from './authentication-fields.ts';
import { challengeSection, isUnprepared } from './challenge-section.ts';
import { activitySection, allFailSince, type EndpointActivity } from './endpoint-activity.ts';
import { type EndpointHub, hubSections } from './endpoint-hub.ts';
import { oauthSection } from './oauth-section.ts';

/** `uses` and `hub` are null if no webhook sends here. `tested` is the result of an OAuth test just made, or null. */
export function endpointView(
  call: PageCall,
  endpoint: Endpoint,
  uses: Uses | null,
  activity: EndpointActivity,
  tested: OauthTest | null,
  hub: EndpointHub | null,
): View {
  const { id, name, url } = endpoint;
  const warnings = endpointWarnings(endpoint, activity.webhooks, call.now);
  // Nothing is sent before ownership is verified, so that comes first.
  const isOpen = mustBeVerified(endpoint) && !endpoint.verified;
  const content = html`
    ${pageHeader({
      title: name,
      crumbs: [{ href: '/endpoints', label: 'Endpoints' }],
      badges: endpointBadges(endpoint),
      lead: html`<p>${copyable(url, 'address')}</p><p>${endpointSentence(endpoint, activity, call.now)}</p>`,
      actions: [
        call.may('administrator') ? switchButton(call, endpoint) : null,
        call.may('administrator') ? linkButton({ href: `/endpoints/${id}/edit`, label: 'Change', icon: 'edit' }) : null,
        linkButton({ href: `/endpoints/${id}/receiver`, label: 'Receiver set-up' }),
      ],
    })}
    ${warningNotice(warnings.filter(({ about }) => about !== 'challenge'))}
    ${isOpen ? challengeSection(call, endpoint) : null}
    ${activitySection(endpoint.customerId, activity, call.now)}
    ${webhooks(call, endpoint, uses)}
    ${hub === null || (isOpen && hub.attempts.length === 0) ? null : hubSections(call, id, activity.webhooks, hub)}
    ${isOpen ? null : challengeSection(call, endpoint)}
    ${credentials(call, endpoint)}
    ${tokenRegion(call, endpoint, tested)}
    ${call.may('administrator') ? removal(endpoint) : null}
  `;
  return { title: name, content, hasCharts: true };
}

/** Pending rotations show with the credentials. */
function warningNotice(all: readonly Warning[]): Html | null {
  const warnings = all.filter(({ tone }) => tone !== 'info');
  if (warnings.length === 0) return null;
  const tone = warnings.some((warning) => warning.tone === 'negative') ? 'negative' : 'caution';
  return notice({ tone, text: html`<ul class="warnings">${warnings.map(({ text }) => html`<li>${text}</li>`)}</ul>` });
}

/** How the page of an endpoint can switch it. Only a correct answer enables an endpoint that must be verified. */
export function switchOf(endpoint: Endpoint): 'disable' | 'enable' | null {
  if (endpoint.enabled) return 'disable';
  return mustBeVerified(endpoint) && !endpoint.verified ? null : 'enable';
}

function switchButton({ csrf }: PageCall, endpoint: Endpoint): Html | null {
  const { id, name, enabled } = endpoint;
  const verb = switchOf(endpoint);
  if (verb === null) return null;
  const label = enabled ? 'Disable' : 'Enable';
  return actionButton({
    action: `/endpoints/${id}/${verb}`,
    csrf,
    id: `${verb}-button`,
    label,
    longLabel: `${label} the endpoint ${name}`,
    icon: enabled ? 'stop' : 'play',
  });
}

function credentials(call: PageCall, endpoint: Endpoint): Html {
  const { now } = call;
  const { id, contentEncoding, clientCertificate, clientCertificateExpiresAt, createdAt, updatedAt } = endpoint;
  const rotates = (action: string, label: string): Html | null =>
    call.may('administrator') ? linkButton({ href: `/endpoints/${id}/${action}`, label, icon: 'replay' }) : null;
  const authentication = currentAuthentication(endpoint, now);
  const authenticationWaits = waitsUntil(endpoint.nextAuthenticationAt, now);
  return section({
    id: 'credentials',
    title: 'Credentials',
    lead: `With these the receiver checks that a request comes from ${call.brand === null ? 'you' : operatorName(call.brand)}.`,
    actions: [
      rotates('rotate-secret', 'New secret'),
      rotates('rotate-api-key', 'New API key'),
      authentication === null ? null : rotates('rotate-authentication', 'New authentication'),
    ],
    content: definitionList([
      ...secretRows(endpoint, authentication, now),
      ...apiKeyRows(endpoint, now),
      ...publicKeys(endpoint, now).map(
        (key, at) =>
          [
            at === 0 ? 'Public key' : 'Other public key',
            copyable(PUBLIC_KEY_PREFIX + key, 'public key'),
            'Verifies v1a signatures of Standard Webhooks.',
          ] as const,
      ),
      ['Authentication', authenticationText(authentication, endpoint.oauthTokenUrl !== null)],
      ...(authenticationWaits === null
        ? []
        : [['Next authentication', html`sent from ${time(authenticationWaits)} on`] as const]),
      ...(endpoint.requestHeaders === null ? [] : [['Headers', headerList(endpoint.requestHeaders)] as const]),
      [
        'Client certificate',
        clientCertificate === null || clientCertificateExpiresAt === null
          ? 'none'
          : html`expires ${time(clientCertificateExpiresAt)} (${relativeTime(clientCertificateExpiresAt, now)})`,
      ],
      ['Compression', contentEncoding ?? 'none'],
      ['Endpoint id', copyable(id)],
      ['Created', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  });
}

function secretRows(endpoint: Endpoint, authentication: Authentication | null, now: number): readonly Definition[] {
  const nextAt = waitsUntil(endpoint.nextSecretAt, now);
  const current: Definition = [
    'Secret',
    html`
      created ${relativeTime(signingSecretCreatedAt(endpoint, now), now)}${' '}
      <span class="quiet">(stored encrypted, never shown again)</span>
    `,
    signatureUse(endpoint, authentication),
  ];
  if (nextAt === null) return [current];
  return [current, ['Next secret', html`signs from ${time(nextAt)} on (${relativeTime(nextAt, now)})`, ACCEPT_BOTH]];
}

function apiKeyRows(endpoint: Endpoint, now: number): readonly Definition[] {
  const { nextApiKey } = endpoint;
  const nextAt = waitsUntil(endpoint.nextApiKeyAt, now);
  const current: Definition = [
    'API key',
    copyable(currentApiKey(endpoint, now).reveal(), 'API key'),
    endpoint.sendApiKey ? 'Sent in X-Api-Key with every request.' : 'Not sent.',
  ];
  if (nextAt === null || nextApiKey === null) return [current];
  const next = html`
    ${copyable(nextApiKey.reveal(), 'next API key')} from ${time(nextAt)} on
    (${relativeTime(nextAt, now)})
  `;
  return [current, ['Next API key', next, ACCEPT_BOTH]];
}

const ACCEPT_BOTH = 'Until then the receiver should accept both.';

function signatureUse({ oauthTokenUrl }: Endpoint, authentication: Authentication | null): string {
  const replaces = authentication !== null && authenticationHeader(authentication) === 'authorization';
  return oauthTokenUrl === null && !replaces
    ? 'Signs every request.'
    : 'Used for challenges and for signatures of webhooks: Authorization does not have it.';
}

function headerList(headers: readonly RequestHeader[]): Html {
  const lines = headers.map(
    ({ name, value, secret }) => html`<li><code>${name}: ${secret ? '[secret]' : value.reveal()}</code></li>`,
  );
  return html`<ul class="uses">${lines}</ul>`;
}

/** The form of a webhook that sends here: of the same customer. */
export function newWebhookOf({ id, customerId }: Endpoint): string {
  return withQuery('/webhooks/new', new URLSearchParams(), { endpoint: id, customer: customerId });
}

function webhooks(call: PageCall, endpoint: Endpoint, uses: Uses | null): Html {
  const { id } = endpoint;
  const create = call.may('administrator')
    ? linkButton({
        href: newWebhookOf(endpoint),
        label: 'New webhook',
        icon: 'plus',
        kind: uses === null ? 'primary' : 'plain',
      })
    : null;
  const all =
    uses !== null && uses.count > uses.first.length
      ? linkButton({ href: `/webhooks?endpoint=${id}`, label: `All ${uses.count}` })
      : null;
  return section({
    title: 'Webhooks that send here',
    actions: uses === null ? [] : [all, create],
    isPlain: true,
    content: table({
      caption: 'Webhooks that send here',
      columns: [
        { label: 'Webhook', kind: 'main' },
        { label: 'State', phone: 'state' },
        { label: 'Actions', kind: 'actions' },
      ],
      rows: (uses ?? NO_USES).first.map((use) => [
        html`<a href="/webhooks/${use.id}">${use.name}</a>`,
        stateBadge(use.state),
        call.may('operator') && endpoint.enabled && !isRunnable(use.state) ? startButton(call, use) : null,
      ]),
      empty: emptyState({
        title: 'Nothing is sent here yet',
        text: html`<p>A webhook says which events go to this endpoint.</p>`,
        action: create,
      }),
    }),
  });
}

function startButton({ csrf }: PageCall, { id, name }: Use): Html {
  return actionButton({
    action: `/webhooks/${id}/start`,
    csrf,
    label: 'Start',
    longLabel: `Start the webhook ${name}`,
    icon: 'play',
  });
}

function removal({ id }: Endpoint): Html {
  return section({
    title: 'Delete',
    lead: 'Deletes its API key and its secret too. You can delete this endpoint only when no webhook sends to it.',
    content: buttonRow([linkButton({ href: `/endpoints/${id}/delete`, label: 'Delete the endpoint', icon: 'trash' })]),
  });
}

/** A live update leaves the result of a test as it is. */
function tokenRegion(call: PageCall, endpoint: Endpoint, tested: OauthTest | null): Html | null {
  const shown = oauthSection(call, endpoint, tested);
  return shown === null ? null : html`<div id="oauth-region" data-hx-morph-skip>${shown}</div>`;
}

export function endpointBadges(endpoint: Endpoint): Html[] {
  const { enabled, verified } = endpoint;
  const challenge = verified ? [stateBadge('verified')] : mustBeVerified(endpoint) ? [stateBadge('unverified')] : [];
  return [stateBadge(enabled ? 'enabled' : 'disabled'), ...challenge];
}

type Activity = Pick<EndpointActivity, 'deliveredAt'> & {
  readonly webhooks: readonly Pick<EndpointWebhook, 'state' | 'failingSinceAt'>[];
};

/** `webhooks`: the webhooks that send to the endpoint. */
export function endpointSentence(endpoint: Endpoint, activity: Activity, now: number): Html | string {
  const { enabled, verified, enableWhenVerified } = endpoint;
  if (enabled) return activeSentence(activity, now);
  if (mustBeVerified(endpoint) && !verified) {
    return enableWhenVerified
      ? 'Nothing is sent here until ownership is verified. Verification also enables the endpoint.'
      : 'Nothing is sent here. The endpoint is disabled, and ownership is not verified.';
  }
  return 'Nothing is sent here: an administrator disabled the endpoint. Webhooks that send here do not run.';
}

function activeSentence({ webhooks, deliveredAt }: Activity, now: number): Html | string {
  const since = allFailSince(webhooks);
  if (since !== null) return html`It is enabled. ${failingFacts(since, deliveredAt, now)}`;
  if (webhooks.some(({ state }) => isRunnable(state))) {
    const failing = webhooks.filter(({ state }) => state === 'failing').length;
    return failing === 0
      ? 'Deliveries are sent here.'
      : `Deliveries are sent here. Those of ${countOf(failing, 'webhook')} fail.`;
  }
  if (webhooks.length === 0) return 'It is enabled. No webhook sends here yet.';
  return webhooks.length === 1
    ? 'Nothing is sent here: its webhook has stopped.'
    : 'Nothing is sent here: its webhooks have stopped.';
}

export type Warning = {
  readonly about: 'challenge' | 'state' | 'webhook' | 'certificate' | 'rotation';
  readonly tone: Tone;
  readonly text: string | Html;
};

/** `webhooks`: the webhooks that send to the endpoint. */
export function endpointWarnings(endpoint: Endpoint, webhooks: readonly EndpointWebhook[], now: number): Warning[] {
  const { lastVerification, enabled, clientCertificateExpiresAt: certificateEnds } = endpoint;
  const warnings: Warning[] = [];
  const warn = (about: Warning['about'], tone: Tone, text: string | Html): void =>
    void warnings.push({ about, tone, text });
  if (lastVerification !== null && !lastVerification.verified && !isUnprepared(endpoint))
    warn('challenge', 'caution', 'The last challenge failed.');
  if (!enabled && webhooks.length > 0) {
    const who = webhooks.length === 1 ? 'One webhook sends' : `${webhooks.length} webhooks send`;
    warn('state', 'caution', `${who} here, but the endpoint is off.`);
  }
  for (const [state, tone] of TROUBLED) {
    const troubled = webhooks.filter((webhook) => webhook.state === state);
    if (troubled.length > 0) warn('webhook', tone, troubleText(state, troubled, now));
  }
  if (certificateEnds !== null && certificateEnds <= now) {
    warn('certificate', 'negative', html`The client certificate has expired (${relativeTime(certificateEnds, now)}).`);
  } else if (certificateEnds !== null && certificateEnds - now < EXPIRY_WARNING_MS) {
    warn('certificate', 'caution', html`The client certificate expires ${relativeTime(certificateEnds, now)}.`);
  }
  const secretWaits = waitsUntil(endpoint.nextSecretAt, now);
  if (secretWaits !== null) warn('rotation', 'info', html`A new secret signs from ${time(secretWaits)} on.`);
  const keyWaits = waitsUntil(endpoint.nextApiKeyAt, now);
  if (keyWaits !== null) warn('rotation', 'info', html`A new API key is sent from ${time(keyWaits)} on.`);
  const waits = waitsUntil(endpoint.nextAuthenticationAt, now);
  if (waits !== null) warn('rotation', 'info', html`A new authentication is sent from ${time(waits)} on.`);
  return warnings;
}

const TROUBLED = [
  ['failed', 'negative'],
  ['failing', 'caution'],
] as const;
const TROUBLED_NAMED = 3;

/** The same about webhooks in a few words, for a cell that names them. */
export function troubleHints(webhooks: readonly EndpointWebhook[], now: number): Html[] {
  return TROUBLED.flatMap(([state, tone]) => {
    const troubled = webhooks.filter((webhook) => webhook.state === state);
    const [first] = troubled;
    if (first === undefined) return [];
    const who = webhooks.length === 1 ? '' : `${troubled.length} of ${webhooks.length} `;
    const since = first.failingSinceAt === null ? '' : ` for ${lengthText(now - first.failingSinceAt)}`;
    const told = state === 'failed' ? 'failed and stopped' : `failing${since}`;
    return [html`<span class="cell-warning tone-${tone}">${who}${told}</span>`];
  });
}

/** Names the first webhooks, with the reason of the first one. */
function troubleText(state: 'failed' | 'failing', troubled: readonly EndpointWebhook[], now: number): Html {
  const [first] = troubled;
  const links = troubled
    .slice(0, TROUBLED_NAMED)
    .map(({ id, name }, at) => html`${at === 0 ? '' : ', '}<a href="/webhooks/${id}">${name}</a>`);
  const more = troubled.length - TROUBLED_NAMED;
  const since = first?.failingSinceAt ?? null;
  const isOne = troubled.length === 1;
  const told =
    state === 'failed'
      ? 'stopped because deliveries failed.'
      : since === null
        ? `${isOne ? 'is' : 'are'} failing.`
        : `${isOne ? 'has' : 'have'} been failing for ${lengthText(now - since)}.`;
  return html`${links}${more > 0 ? ` and ${more} more` : ''}${' '}${told}`;
}

/** The instant if it is in the future, or null. */
export function waitsUntil(at: number | null, now: number): number | null {
  return at !== null && at > now ? at : null;
}
