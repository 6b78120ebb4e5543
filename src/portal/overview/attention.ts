/**
 * The section *Problems*: webhooks that do not deliver, endpoints that are not verified, keys and certificates that expire soon, and what
 * helps.
 */
import { type Endpoint, isUnverified } from '../../domain/endpoint.ts';
import { EXPIRY_WARNING_MS } from '../../domain/limits.ts';
import type { WebhookState } from '../../domain/webhook.ts';
import { isRunnable, NO_DEAD_LEFT, STATE_REASONS, type StopReason } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { Expiry } from '../../store/port/housekeeping.ts';
import type { Ailing } from '../../store/port/overview.ts';
import type { Store } from '../../store/port/store.ts';
import { withoutCode } from '../endpoints/challenge-section.ts';
import { linkButton, section } from '../parts/header.ts';
import { AILING_SHOWN, EXPIRIES_SHOWN } from '../parts/limits.ts';
import { table } from '../parts/list.ts';
import { badge, notice, stateBadge } from '../parts/mark.ts';
import { countText, lengthTime, relativeTime, sentence, shortTime } from '../parts/text.ts';
import {
  advisedCause,
  type Cause,
  credentialsLink,
  failingAdvice,
  failingCauses,
  givenUpFor,
  readCausesOf,
} from '../record/causes.ts';
import { type DeadRecords, deadOf, deadText } from '../record/dead-records.ts';
import { NO_OWNERS, type RecordOwners } from '../record/owner.ts';
import { failuresOf, readFailsSince } from '../record/webhook-state.ts';

export type Attention = {
  /** Whether a webhook has sent something since its start, is started, and whether there is one. */
  readonly webhooks: 'sending' | 'started' | 'none started' | 'none';
  readonly ailing: readonly AilingWebhook[];
  /** Endpoints of a customer that get nothing until they pass their challenge. */
  readonly unverified: readonly Endpoint[];
  /** Expired, or expires within 30 days. */
  readonly expiring: readonly Expiry[];
  /** Absent on the page of one customer. */
  readonly owners?: ProblemOwners;
  /** The button that starts a webhook; null if the visitor may not start webhooks and send again. */
  readonly startButton: ((webhook: Ailing) => Html) | null;
  readonly now: number;
};

/** With its dead deliveries, and why its deliveries failed. */
export type AilingWebhook = Ailing & { readonly dead: DeadRecords; readonly causes: readonly Cause[] };

/** Whose the webhooks, keys and endpoints with problems are. */
export type ProblemOwners = { readonly [Kind in 'webhooks' | Expiry['kind']]: RecordOwners } & {
  /** The customer whose portal it is. */
  readonly customerId: string | null;
};

const OF_ONE_CUSTOMER: ProblemOwners = {
  customerId: null,
  webhooks: NO_OWNERS,
  key: NO_OWNERS,
  certificate: NO_OWNERS,
};

export function hasProblems({ ailing, unverified, expiring }: Omit<Attention, 'now' | 'startButton'>): boolean {
  return ailing.length + unverified.length + expiring.length > 0;
}

export function attentionSection(attention: Attention): Html {
  const { webhooks, ailing, unverified, expiring, owners = OF_ONE_CUSTOMER, startButton, now } = attention;
  const isTroubled = hasProblems(attention);
  const content = isTroubled
    ? html`
      ${ailing.length === 0 ? null : ailingTable(ailing, owners, { now, startButton })}
      ${unverified.length === 0 ? null : unverifiedTable(unverified, now)}
      ${expiring.length === 0 ? null : expiringTable(expiring, owners, now)}
    `
    : webhooks === 'sending'
      ? notice({ tone: 'positive', text: 'Every started webhook delivers, and no key or certificate expires soon.' })
      : html`<p class="quiet">${NOTHING_SENT[webhooks]}</p>`;
  return section({ title: 'Problems', id: 'attention', content, isPlain: isTroubled });
}

const NOTHING_SENT = {
  started: 'No event has come since the webhooks were started. No key or certificate expires soon.',
  'none started': 'No webhook is started. No key or certificate expires soon.',
  none: 'No webhook yet. Problems will be listed here.',
} as const;

function ailingTable(
  ailing: readonly AilingWebhook[],
  owners: ProblemOwners,
  { now, startButton }: Pick<Attention, 'now' | 'startButton'>,
): Html {
  return table({
    caption: 'Webhooks with problems',
    columns: [
      { label: 'Webhook', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Problem', phone: 'plain' },
      { label: 'Since', phone: 'named' },
      { label: 'Pending', kind: 'number', phone: 'named' },
    ],
    rows: ailing.map((webhook) => [
      html`
        <a href="/webhooks/${webhook.id}">${webhook.name}</a>
        ${owners.webhooks.hintOf(webhook.id)}
        <span class="cell-hint">to ${webhook.endpointName}</span>
      `,
      stateBadge(webhook.state),
      html`
        ${problemOf(webhook, owners.customerId, startButton !== null)}
        ${
          startButton === null || isRunnable(webhook.state)
            ? null
            : html`<div class="problem-action">${startOf(webhook, startButton)}</div>`
        }
      `,
      sinceCell(webhook.since, now),
      webhook.waiting === 0
        ? 0
        : html`<a href="/deliveries?webhook=${webhook.id}&state=pending">${countText(webhook.waiting)}</a>`,
    ]),
    rowIds: ailing.map(({ id }) => `problem-${id}`),
    live: ['problem', 'problems'],
    empty: html``,
  });
}

function sinceCell(since: number, now: number): Html {
  return html`${shortTime(since, 'minute')} <span class="cell-hint">${lengthTime(since, now)}</span>`;
}

/** The page of each endpoint has the button, and compares the challenge with its answer. */
function unverifiedTable(unverified: readonly Endpoint[], now: number): Html {
  return table({
    caption: 'Endpoints that are not verified',
    columns: [
      { label: 'Endpoint', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Problem', phone: 'plain' },
      { label: 'Since', phone: 'named' },
    ],
    rows: unverified.map(({ id, name, createdAt, lastVerification }) => [
      html`<a href="/endpoints/${id}">${name}</a>`,
      stateBadge('unverified'),
      html`
        ${lastVerification?.error == null ? 'It has not passed a challenge yet.' : sentence(withoutCode(lastVerification.error))}
        ${' '}
        <span class="cell-hint is-sentence">
          Nothing is sent to it until it passes its challenge.
          <a href="/endpoints/${id}#challenge" aria-label="See the challenge of ${name}">See the challenge</a>
        </span>
      `,
      sinceCell(createdAt, now),
    ]),
    rowIds: unverified.map(({ id }) => `unverified-${id}`),
    live: ['problem', 'problems'],
    empty: html``,
  });
}

/** A webhook that failed with dead deliveries is started where these are sent again too. */
function startOf(webhook: AilingWebhook, button: NonNullable<Attention['startButton']>): Html {
  const { id, name, state, dead } = webhook;
  if (state !== 'failed' || dead.records === 0) return button(webhook);
  const label = `Start, and send ${deadText(dead)} again`;
  return linkButton({
    href: `/deliveries/replay?webhook=${id}&state=dead`,
    label,
    longLabel: `${label}: ${name}`,
    icon: 'replay',
  });
}

/** The problem, the advice below it, and where its failures and its dead deliveries are. */
function problemOf(
  { id, name, state, reason, detail, dead, causes, endpointId, endpointName }: AilingWebhook,
  reader: ProblemOwners['customerId'],
  mayAct: boolean,
): Html {
  const count = deadText(dead);
  const links = [
    dead.records === 0
      ? null
      : html`<a href="/deliveries?webhook=${id}&state=dead" aria-label="${count} dead: ${name}">${count} dead</a> · `,
    state === 'stopped'
      ? null
      : html`<a href="${failuresOf(id)}" aria-label="Failures by cause: ${name}">Failures by cause</a>`,
    state === 'failed' && mayAct
      ? html` · <a href="/webhooks/${id}#test-button" aria-label="Send a test event: ${name}">Send a test event</a>`
      : null,
  ];
  const failures = links.every((link) => link === null)
    ? null
    : html`<span class="cell-hint is-sentence problem-links">${links}</span>`;
  if (reason === null) return html`<span class="quiet">–</span>${failures}`;
  const givenUp = givenUpFor(reason, causes, reader);
  if (givenUp !== null) {
    const credentials = credentialsLink(givenUp.cause, { id: endpointId, name: endpointName });
    return html`
      ${givenUp.why}
      ${' '}
      <span class="cell-hint is-sentence">${givenUp.advice} ${credentials}</span>
      ${failures}
    `;
  }
  const known = STATE_REASONS[reason as StopReason] as string | undefined;
  if (known !== undefined)
    return html`${reason === 'too_many_dead' && dead.records === 0 ? NO_DEAD_LEFT : known} ${failures}`;
  const latest = [reason, detail] as const;
  const credentials = credentialsLink(advisedCause(causes, latest), { id: endpointId, name: endpointName });
  return html`
    ${failingCauses(causes, latest) ?? sentence(detail ?? reason)}
    ${' '}
    <span class="cell-hint is-sentence">${failingAdvice(causes, latest, reader)} ${credentials}</span>
    ${failures}
  `;
}

function expiringTable(expiring: readonly Expiry[], owners: ProblemOwners, now: number): Html {
  return table({
    caption: 'Keys and certificates that expire soon',
    columns: [
      { label: 'Name', kind: 'main' },
      { label: 'Kind', phone: 'plain' },
      { label: 'Expires', phone: 'state' },
      { label: 'Consequence', phone: 'plain' },
    ],
    rows: expiring.map(({ kind, id, name, expiresAt }) => {
      const path = kind === 'key' ? 'keys' : 'endpoints';
      const isOver = expiresAt <= now;
      return [
        html`<a href="/${path}/${id}">${name}</a>${owners[kind].hintOf(id)}`,
        KINDS[kind],
        html`
          ${badge(isOver ? 'negative' : 'caution', isOver ? 'expired' : 'expires', 'clock')}
          ${' '}
          ${relativeTime(expiresAt, now)}
        `,
        CONSEQUENCES[kind],
      ];
    }),
    rowIds: expiring.map(({ kind, id }) => `expiring-${kind}-${id}`),
    live: ['expiry', 'expiries'],
    empty: html``,
  });
}

const KINDS: Readonly<Record<Expiry['kind'], string>> = { key: 'PGP key', certificate: 'Client certificate' };
const CONSEQUENCES: Readonly<Record<Expiry['kind'], string>> = {
  key: 'Webhooks that use it stop, and their deliveries wait.',
  certificate: 'Receivers that require it reject the requests.',
};

type AttentionStore = Pick<Store, 'customerId' | 'directory' | 'overview' | 'expiry' | 'deliveries' | 'stateHistory'>;

/** Reads the entries of the section *Problems*: of the customer of the store, or of everyone. */
export async function readAttention(
  store: AttentionStore,
  now: number,
): Promise<Omit<Attention, 'now' | 'startButton'>> {
  const { customerId, directory, expiry } = store;
  const [states, ailing, unverified, expiries] = await Promise.all([
    directory.states(customerId),
    readAiling(store),
    customerId === null ? [] : readUnverified(store),
    expiry.all(customerId, EXPIRIES_SHOWN),
  ]);
  const numbers = ailing.map(({ webhookNumber }) => webhookNumber);
  const [deadAt, causesOf] = await Promise.all([deadOf(store, numbers), readCausesOf(store, numbers)]);
  return {
    webhooks: webhooksIn(states),
    ailing: ailing.map((webhook) => ({
      ...webhook,
      dead: deadAt(webhook.webhookNumber),
      causes: causesOf(webhook.id),
    })),
    unverified,
    expiring: expiries.filter(({ expiresAt }) => expiresAt <= now + EXPIRY_WARNING_MS),
  };
}

/** An endpoint that someone disabled as well is no problem: nothing is expected of it. */
async function readUnverified({ directory }: Pick<Store, 'directory'>): Promise<readonly Endpoint[]> {
  const found = await directory.endpoints({ state: 'problems' }, null, AILING_SHOWN);
  return found.filter((endpoint) => isUnverified(endpoint) && endpoint.enableWhenVerified);
}

/** The webhooks with problems, a failing one with the time since which it fails by the rule of its own page. */
export async function readAiling(
  store: Pick<Store, 'customerId' | 'overview' | 'stateHistory'>,
): Promise<readonly Ailing[]> {
  const found = await store.overview.ailing(store.customerId, AILING_SHOWN);
  // A webhook that sends nothing comes before one that still tries, and the newest problem first within each.
  const ailing = found.toSorted((a, b) => Number(isRunnable(a.state)) - Number(isRunnable(b.state)));
  return Promise.all(
    ailing.map(async (webhook) => {
      const begunAt = await readFailsSince(store, { ...webhook, failingSinceAt: webhook.since });
      return { ...webhook, since: begunAt ?? webhook.since };
    }),
  );
}

function webhooksIn(states: Readonly<Partial<Record<WebhookState, number>>>): Attention['webhooks'] {
  const present = Object.keys(states) as readonly WebhookState[];
  if (present.some((state) => state === 'running' || state === 'failing')) return 'sending';
  return present.some(isRunnable) ? 'started' : present.length > 0 ? 'none started' : 'none';
}
