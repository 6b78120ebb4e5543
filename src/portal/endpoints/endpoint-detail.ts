/** The page of an endpoint: its header with the tabs, its state, warnings, and the webhooks that send here. */
import { type Endpoint, isUnverified, mustBeVerified } from '../../domain/endpoint.ts';
import { EXPIRY_WARNING_MS } from '../../domain/limits.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import type { EndpointWebhook, Uses } from '../../store/port/directory.ts';
import type { PageCall } from '../frame/call.ts';
import { copyable } from '../parts/details.ts';
import { actionButton, linkButton, pageHeader, section } from '../parts/header.ts';
import { failingFacts, healthCell } from '../parts/health.ts';
import { emptyState, table, withQuery } from '../parts/list.ts';
import { filterChip, notice, stateBadge, type Tone, tags } from '../parts/mark.ts';
import { countOf, countText, relativeTime, time } from '../parts/text.ts';
import { type RecordTab, recordFacts, recordTabs } from '../record/record-tabs.ts';
import { failsBriefly } from '../record/webhook-state.ts';
import { challengeSection, isUnprepared, verifyButton } from './challenge-section.ts';
import { activityFigures, allFailSince, type EndpointActivity, failureNotice } from './endpoint-activity.ts';
import { type EndpointHub, hubSections } from './endpoint-hub.ts';

/** Event types that a row names. */
const TYPES_SHOWN = 3;

export type EndpointPage = {
  readonly endpoint: Endpoint;
  readonly owner: OwnerName | null;
  /** Whether it is the operator's own beside those of customers. */
  readonly isOwn: boolean;
  /** Null if no webhook sends here. */
  readonly uses: Uses | null;
  readonly activity: EndpointActivity;
  readonly tab: RecordTab;
};

/** Ids of what only one tab has. */
function anchorsOf(endpoint: Endpoint): Parameters<typeof recordTabs>[3] {
  // Nothing is sent before ownership is verified, so that comes first.
  const isAhead = isUnverified(endpoint);
  const verified = isAhead ? [] : ['challenge', 'verify-button'];
  return {
    activity: ['figures', 'webhooks', 'throughput', 'attempts', 'deliveries', ...(isAhead ? ['challenge'] : [])],
    settings: ['credentials', 'requests', 'oauth', 'identification', 'delete', ...verified],
    history: ['history'],
  };
}

/** The name, whose it is, the address, the state in a line, what one does first, and the tabs. */
export function endpointHeader(call: PageCall, { endpoint, owner, isOwn, activity, tab }: EndpointPage): Html {
  const { id, name, url, enabled } = endpoint;
  const isAdministrator = call.may('administrator');
  const said = endpointSentence(endpoint, activity, call.now);
  return html`
    ${pageHeader({
      title: name,
      crumbs: [{ href: '/endpoints', label: 'Endpoints' }],
      badges: endpointBadges(endpoint, activity.webhooks),
      lead: html`
        ${recordFacts(owner, [copyable(url, 'address')], isOwn)}
        ${said === '' ? null : html`<p>${said}</p>`}
      `,
      actions: [
        isAdministrator ? linkButton({ href: `/endpoints/${id}/edit`, label: 'Change', icon: 'edit' }) : null,
        isAdministrator && enabled ? switchButton(call, endpoint) : null,
        linkButton({ href: `/endpoints/${id}/receiver`, label: 'Receiver set-up' }),
        call.may('operator') && enabled ? testLink(id, activity.webhooks) : null,
        isAdministrator && !enabled ? switchButton(call, endpoint) : null,
        call.may('operator') && isUnverified(endpoint) ? verifyButton(call, endpoint, 'primary') : null,
      ],
    })}
    ${recordTabs(`The endpoint ${name}`, `/endpoints/${id}`, tab, anchorsOf(endpoint))}
  `;
}

/** To the form of its webhook, or to all of its webhooks: each row leads to its own. */
function testLink(id: string, [only, ...others]: readonly Pick<EndpointWebhook, 'id'>[]): Html | null {
  if (only === undefined) return null;
  const href = others.length === 0 ? testOf(only) : `/endpoints/${id}#webhooks`;
  return linkButton({ href, label: 'Send a test event', icon: 'send' });
}

function testOf({ id }: Pick<EndpointWebhook, 'id'>): string {
  return `/webhooks/${id}#samples`;
}

/** The tab “Activity”. `hub` is null if no webhook sends here. */
export function endpointActivity(
  call: PageCall,
  { endpoint, uses, activity }: EndpointPage,
  hub: EndpointHub | null,
): Html {
  const warnings = endpointWarnings(endpoint, activity.webhooks, call.now);
  const isUnused = hub === null || (isUnverified(endpoint) && hub.deliveries.rows.length === 0);
  return html`
    ${warningNotice(warnings.filter(({ about }) => about !== 'challenge'))}
    ${isUnverified(endpoint) ? challengeSection(endpoint, null) : null}
    ${hub === null ? null : failureNotice(endpoint, activity, hub.causes, call.session.customerId)}
    ${hub === null ? null : activityFigures(activity, hub.dead, call.now)}
    ${webhooks(call, endpoint, uses, hub)}
    ${isUnused ? null : hubSections(call, endpoint.id, activity.webhooks, hub)}
  `;
}

/** Rotations show with the credentials. */
function warningNotice(all: readonly Warning[]): Html | null {
  const warnings = all.filter(({ tone }) => tone !== 'info');
  if (warnings.length === 0) return null;
  const tone = warnings.some((warning) => warning.tone === 'negative') ? 'negative' : 'caution';
  return notice({ tone, text: html`<ul class="warnings">${warnings.map(({ text }) => html`<li>${text}</li>`)}</ul>` });
}

/** How the page of an endpoint can switch it. Only a correct answer enables an endpoint that must be verified. */
export function switchOf(endpoint: Endpoint): 'disable' | 'enable' | null {
  if (endpoint.enabled) return 'disable';
  return isUnverified(endpoint) ? null : 'enable';
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
    kind: enabled ? 'plain' : 'primary',
  });
}

/** The form of a webhook that sends here: of the same customer. */
export function newWebhookOf({ id, customerId }: Endpoint): string {
  return withQuery('/webhooks/new', new URLSearchParams(), { endpoint: id, customer: customerId });
}

function webhooks(call: PageCall, endpoint: Endpoint, uses: Uses | null, hub: EndpointHub | null): Html {
  const { id } = endpoint;
  const listings = hub?.listings ?? [];
  const create = call.may('administrator')
    ? linkButton({
        href: newWebhookOf(endpoint),
        label: 'New webhook',
        icon: 'plus',
        kind: uses === null ? 'primary' : 'plain',
      })
    : null;
  const all =
    uses !== null && uses.count > listings.length
      ? linkButton({ href: `/webhooks?endpoint=${id}`, label: `All ${uses.count}` })
      : null;
  return section({
    title: 'Webhooks that send here',
    id: 'webhooks',
    actions: uses === null ? [] : [all, create],
    isPlain: true,
    content: table({
      caption: 'Webhooks that send here',
      columns: [
        { label: 'Webhook', kind: 'main' },
        { label: 'State', phone: 'state' },
        { label: 'Events', phone: 'plain' },
        { label: 'Succeeded, 24 h', phone: 'named' },
        { label: 'Pending', kind: 'number', phone: 'named' },
        { label: 'Actions', kind: 'actions' },
      ],
      rows: listings.map(({ webhook, pendingRecords, day }) => {
        const { progress, eventTypes, filter } = webhook;
        return [
          html`<a href="/webhooks/${webhook.id}">${webhook.name}</a>`,
          stateBadge(failsBriefly(progress, day, call.now) ? 'running' : progress.state),
          tags(eventTypes.slice(0, TYPES_SHOWN), eventTypes.length - TYPES_SHOWN, filterChip(filter)),
          healthCell(day),
          pendingRecords === 0
            ? html`<span class="quiet">0</span>`
            : html`<a href="/deliveries?webhook=${webhook.id}&state=pending">${countText(pendingRecords)}</a>`,
          call.may('operator') && endpoint.enabled ? webhookActions(call, webhook) : null,
        ];
      }),
      empty: emptyState({
        title: 'Nothing is sent here yet',
        text: html`<p>A webhook says which events go to this endpoint.</p>`,
        action: create,
      }),
    }),
  });
}

/** Leads to its test event, and starts it. */
function webhookActions({ csrf }: PageCall, webhook: Webhook): Html {
  const { id, name, progress } = webhook;
  const longLabel = `Test event through ${name}`;
  const start = isRunnable(progress.state)
    ? null
    : actionButton({
        action: `/webhooks/${id}/start`,
        csrf,
        label: 'Start',
        longLabel: `Start the webhook ${name}`,
        icon: 'play',
      });
  return html`${linkButton({ href: testOf(webhook), label: 'Test event', longLabel, kind: 'quiet' })}${start}`;
}

/** The worst of its own state and of its webhooks, and whether its ownership is verified. */
export function endpointBadges(endpoint: Endpoint, webhooks: readonly Pick<EndpointWebhook, 'state'>[]): Html[] {
  const { enabled, verified } = endpoint;
  const challenge = verified ? [stateBadge('verified')] : mustBeVerified(endpoint) ? [stateBadge('unverified')] : [];
  const troubled = TROUBLED.find((state) => webhooks.some((webhook) => webhook.state === state));
  return [stateBadge(enabled ? (troubled ?? 'enabled') : 'disabled'), ...challenge];
}

type Activity = Pick<EndpointActivity, 'deliveredAt'> & {
  readonly webhooks: readonly Pick<EndpointWebhook, 'state' | 'stateReason' | 'failingSinceAt'>[];
};

/** `webhooks`: the webhooks that send to the endpoint. */
export function endpointSentence(endpoint: Endpoint, activity: Activity, now: number): Html | string {
  const { enabled, enableWhenVerified } = endpoint;
  if (enabled) return activeSentence(activity, now);
  if (isUnverified(endpoint)) {
    return enableWhenVerified
      ? 'Nothing is sent here until ownership is verified. Verification also enables the endpoint.'
      : 'Nothing is sent here. The endpoint is disabled, and ownership is not verified.';
  }
  return 'Nothing is sent here: an administrator disabled the endpoint. Webhooks that send here do not run.';
}

function activeSentence({ webhooks, deliveredAt }: Activity, now: number): Html | string {
  const since = allFailSince(webhooks);
  if (since !== null) {
    return failingFacts({ since, succeededAt: deliveredAt, error: null }, now);
  }
  if (webhooks.some(({ state }) => isRunnable(state))) {
    const failing = webhooks.filter(({ state }) => state === 'failing').length;
    // The badges say the rest.
    return failing === 0 ? '' : `The deliveries of ${countOf(failing, 'webhook')} fail.`;
  }
  if (webhooks.length === 0) return 'It is enabled. No webhook sends here yet.';
  // A webhook that was never started has no reason.
  const why = webhooks.every(({ stateReason }) => stateReason === null)
    ? ['was never started', 'were never started']
    : webhooks.every(({ state }) => state === 'failed')
      ? ['has failed', 'have failed']
      : ['is stopped', 'are stopped'];
  return `Nothing is sent here: its ${webhooks.length === 1 ? `webhook ${why[0]}` : `webhooks ${why[1]}`}.`;
}

export type Warning = {
  readonly about: 'challenge' | 'state' | 'certificate' | 'rotation';
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
    warn(
      'state',
      'caution',
      `${who} here, but the endpoint is ${isUnverified(endpoint) ? 'not verified' : 'disabled'}.`,
    );
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

/** The worst first. */
const TROUBLED = ['failed', 'failing'] as const;

/**
 * The problems of its webhooks in a few words, below the worst of them, and the deliveries that wait for a start. A disabled endpoint has
 * none: no webhook can start before it is enabled, and a warning says that they send there.
 */
export function troubleHints(
  { enabled }: Pick<Endpoint, 'enabled'>,
  webhooks: readonly Pick<EndpointWebhook, 'state' | 'pendingRecords'>[],
): Html[] {
  if (!enabled) return [];
  const ofState = (state: EndpointWebhook['state']) => webhooks.filter((webhook) => webhook.state === state);
  const troubled = TROUBLED.flatMap((state) => {
    const count = ofState(state).length;
    // The badge says it of the only webhook.
    if (count === 0 || webhooks.length === 1) return [];
    return [html`<span class="cell-hint">${count} of ${webhooks.length} webhooks ${state}</span>`];
  });
  const waiting = ofState('stopped').reduce((sum, { pendingRecords }) => sum + pendingRecords, 0);
  if (waiting === 0) return troubled;
  const whose = ofState('stopped').length === 1 ? 'webhook' : 'webhooks';
  return [...troubled, html`<span class="cell-hint">${whose} stopped, ${countText(waiting)} pending</span>`];
}

/** The instant if it is in the future, or null. */
export function waitsUntil(at: number | null, now: number): number | null {
  return at !== null && at > now ? at : null;
}
