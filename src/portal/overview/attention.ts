/**
 * The section *Problems*: webhooks that do not deliver, endpoints that are not verified, keys and certificates that expire soon, and what
 * helps.
 */
import { type Endpoint, isUnverified } from '../../domain/endpoint.ts';
import { EXPIRY_WARNING_MS } from '../../domain/limits.ts';
import type { WebhookState } from '../../domain/webhook.ts';
import { isRunnable, NO_DEAD_LEFT, STATE_REASONS, type StopReason } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { FailureGroup } from '../../store/port/deliveries.ts';
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
  byFrequency,
  type Cause,
  credentialsLink,
  failingAdvice,
  failingCauses,
  givenUpFor,
  readCausesOf,
  thenTest,
} from '../record/causes.ts';
import { type DeadRecords, deadOf, deadText, replayLink } from '../record/dead-records.ts';
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
  /** Null if the visitor may not start webhooks and send again. */
  readonly button: ProblemButton | null;
  readonly now: number;
};

/** The button of a webhook that starts it, or tries the delivery at an offset now. */
export type ProblemButton = (webhook: Pick<Ailing, 'id' | 'name'>, offset: number | null) => Html;

/** Its label, name and icon. */
export function problemLook({ name }: Pick<Ailing, 'name'>, offset: number | null) {
  if (offset === null) return { label: 'Start', longLabel: `Start the webhook ${name}`, icon: 'play' } as const;
  const label = `Try #${offset} now`;
  return { label, longLabel: `${label}: ${name}`, icon: 'send' } as const;
}

/** With its dead deliveries, and why its deliveries failed. */
export type AilingWebhook = Ailing & {
  readonly dead: DeadRecords;
  readonly causes: readonly (Cause & Pick<FailureGroup, 'oldest'>)[];
};

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

export function hasProblems({ ailing, unverified, expiring }: Omit<Attention, 'now' | 'button'>): boolean {
  return ailing.length + unverified.length + expiring.length > 0;
}

export function attentionSection(attention: Attention): Html {
  const { webhooks, ailing, unverified, expiring, owners = OF_ONE_CUSTOMER, button, now } = attention;
  const isTroubled = hasProblems(attention);
  const content = isTroubled
    ? html`
      ${ailing.length === 0 ? null : ailingTable(ailing, owners, { now, button })}
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
  { now, button }: Pick<Attention, 'now' | 'button'>,
): Html {
  return table({
    caption: 'Webhooks with problems',
    columns: [
      { label: 'Webhook', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Problem', phone: 'plain' },
      ...(button === null ? [] : [{ label: 'Action', kind: 'actions' as const }]),
    ],
    rows: ailing.map((webhook) => [
      html`
        <a href="/webhooks/${webhook.id}">${webhook.name}</a>
        ${owners.webhooks.hintAmong(webhook.id)}
        <span class="cell-hint">to ${webhook.endpointName}</span>
      `,
      stateOf(webhook, now),
      problemOf(webhook, owners.customerId, button !== null),
      ...(button === null ? [] : [actionOf(webhook, button)]),
    ]),
    rowIds: ailing.map(({ id }) => `problem-${id}`),
    live: ['problem', 'problems'],
  });
}

/** With the time since then, and the deliveries that wait. */
function stateOf({ id, name, state, since, waiting }: AilingWebhook, now: number): Html {
  const label = `${countText(waiting)} pending`;
  const pending = html`
    <a href="/deliveries?webhook=${id}&state=pending" aria-label="${label}: ${name}">${label}</a>
  `;
  return html`
    ${stateBadge(state)}
    ${' '}<span class="cell-hint">since ${shortTime(since, 'minute')}</span>
    ${' '}<span class="cell-hint">${lengthTime(since, now)}${waiting === 0 ? null : html` · ${pending}`}</span>
  `;
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
  });
}

/**
 * A webhook that does not run is started, and one that failed with dead deliveries is started where these are sent again too. Of one that
 * fails, the oldest delivery with the most frequent cause is tried, as *Failures by cause* offers it.
 */
function actionOf(webhook: AilingWebhook, button: ProblemButton): Html | null {
  const { state, reason, dead, causes, endpointId: id, endpointName: name } = webhook;
  if (state === 'stopped' && reason === 'endpoint_disabled') return endpointButton({ id, name });
  if (isRunnable(state)) {
    const [main] = byFrequency(causes, 'retrying');
    return main === undefined ? null : button(webhook, main.oldest.offset);
  }
  return sendsAgain(webhook) ? replayLink(webhook, dead) : button(webhook, null);
}

/** Where a start is impossible, the way to the endpoint, which has the button that helps. */
export function endpointButton({ id, name }: { readonly id: string; readonly name: string }): Html {
  return linkButton({ href: `/endpoints/${id}`, label: 'Open endpoint', longLabel: `Open endpoint ${name}` });
}

function sendsAgain({ state, dead }: Pick<AilingWebhook, 'state' | 'dead'>): boolean {
  return state === 'failed' && dead.records > 0;
}

/** The problem, the advice below it, and where its failures and its dead deliveries are. */
function problemOf(webhook: AilingWebhook, reader: ProblemOwners['customerId'], mayAct: boolean): Html {
  const { id, name, state, dead, endpointId, endpointName } = webhook;
  const { why, advice = null, cause = null, isGivenUp = false } = reasonOf(webhook, reader);
  const isTestable = state === 'failed' && mayAct;
  const test = (label: string): Html =>
    html`<a href="/webhooks/${id}#test-button" aria-label="Send a test event: ${name}">${label}</a>`;
  const count = `${deadText(dead)} dead`;
  const links = [
    credentialsLink(cause, { id: endpointId, name: endpointName }),
    dead.records === 0 || (mayAct && sendsAgain(webhook))
      ? null
      : html`<a href="/deliveries?webhook=${id}&state=dead" aria-label="${count}: ${name}">${count}</a>`,
    state === 'stopped'
      ? null
      : html`<a href="${failuresOf(id)}" aria-label="Failures by cause: ${name}">Failures by cause</a>`,
    isTestable && !isGivenUp ? test('Send a test event') : null,
  ].filter((link) => link !== null);
  return html`
    ${why}
    ${' '}
    <span class="cell-hint is-sentence">
      ${advice}
      ${!isGivenUp ? null : isTestable ? html` Then ${test('send a test event')} before you start it.` : html` ${thenTest(mayAct)}`}
      ${links.map((link, at) => html`${at === 0 ? ' ' : ' · '}${link}`)}
    </span>
  `;
}

type Reason = {
  readonly why: string | Html;
  readonly advice?: string | null;
  readonly cause?: string | null;
  /** Whether the service stopped it after failures. */
  readonly isGivenUp?: boolean;
};

function reasonOf({ reason, detail, dead, causes }: AilingWebhook, reader: ProblemOwners['customerId']): Reason {
  if (reason === null) return { why: html`<span class="quiet">–</span>` };
  const givenUp = givenUpFor(reason, causes, reader);
  if (givenUp !== null) return { ...givenUp, isGivenUp: true };
  const known = STATE_REASONS[reason as StopReason] as string | undefined;
  if (known !== undefined) return { why: reason === 'too_many_dead' && dead.records === 0 ? NO_DEAD_LEFT : known };
  const latest = [reason, detail] as const;
  return {
    why: failingCauses(causes, latest) ?? sentence(detail ?? reason),
    advice: failingAdvice(causes, latest, reader),
    cause: advisedCause(causes, latest),
  };
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
  });
}

const KINDS: Readonly<Record<Expiry['kind'], string>> = { key: 'PGP key', certificate: 'Client certificate' };
const CONSEQUENCES: Readonly<Record<Expiry['kind'], string>> = {
  key: 'Webhooks that use it stop, and their deliveries wait.',
  certificate: 'Receivers that require it reject the requests.',
};

type AttentionStore = Pick<Store, 'customerId' | 'directory' | 'overview' | 'expiry' | 'deliveries' | 'stateHistory'>;

/** Reads the entries of the section *Problems*: of the customer of the store, or of everyone. */
export async function readAttention(store: AttentionStore, now: number): Promise<Omit<Attention, 'now' | 'button'>> {
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
