/** The section *Problems*: webhooks that do not deliver, keys and certificates that expire soon, and what helps. */
import { EXPIRY_WARNING_MS } from '../../domain/limits.ts';
import type { WebhookState } from '../../domain/webhook.ts';
import { isRunnable, NO_DEAD_LEFT, STATE_REASONS, type StopReason } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { Expiry } from '../../store/port/housekeeping.ts';
import type { Ailing } from '../../store/port/overview.ts';
import type { Store } from '../../store/port/store.ts';
import { type Cause, failingAdvice, failingCauses, readCausesOf } from '../deliveries/causes.ts';
import { section } from '../parts/header.ts';
import { AILING_SHOWN, EXPIRIES_SHOWN, STATES_READ } from '../parts/limits.ts';
import { table } from '../parts/list.ts';
import { badge, notice, stateBadge } from '../parts/mark.ts';
import { countText, lengthTime, relativeTime, sentence } from '../parts/text.ts';
import { NO_OWNERS, type RecordOwners } from '../record/owner.ts';
import { failsSince } from '../record/webhook-state.ts';

export type Attention = {
  /** Whether a webhook is started, and whether there is one. */
  readonly webhooks: 'started' | 'none started' | 'none';
  readonly ailing: readonly Ailing[];
  /** Expired, or expires within 30 days. */
  readonly expiring: readonly Expiry[];
  /** Absent on the page of one customer. */
  readonly owners?: ProblemOwners;
  /** The button that starts a webhook; null if the visitor may not start webhooks and send again. */
  readonly startButton: ((webhook: Ailing) => Html) | null;
  /** Why the deliveries of a webhook failed. */
  readonly causesOf: (webhookId: string) => readonly Cause[];
  readonly now: number;
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

export function attentionSection({
  webhooks,
  ailing,
  expiring,
  owners = OF_ONE_CUSTOMER,
  startButton,
  causesOf,
  now,
}: Attention): Html {
  const count = ailing.length + expiring.length;
  const content =
    count === 0
      ? webhooks === 'started'
        ? notice({
            tone: 'positive',
            text: 'Every started webhook delivers, and no key or certificate expires soon.',
          })
        : html`<p class="quiet">${NO_WEBHOOKS[webhooks]}</p>`
      : html`
        ${ailing.length === 0 ? null : ailingTable(ailing, owners, { now, startButton, causesOf })}
        ${expiring.length === 0 ? null : expiringTable(expiring, owners, now)}
      `;
  return section({ title: 'Problems', id: 'attention', content, isPlain: count > 0 });
}

const NO_WEBHOOKS = {
  'none started': 'No webhook is started. No key or certificate expires soon.',
  none: 'No webhook yet. Problems will be listed here.',
} as const;

function ailingTable(
  ailing: readonly Ailing[],
  owners: ProblemOwners,
  { now, startButton, causesOf }: Pick<Attention, 'now' | 'startButton' | 'causesOf'>,
): Html {
  // Only a webhook that does not run has a button.
  const button = ailing.every(({ state }) => isRunnable(state)) ? null : startButton;
  return table({
    caption: 'Webhooks with problems',
    columns: [
      { label: 'Webhook', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Problem', phone: 'plain' },
      { label: 'For', phone: 'named' },
      { label: 'Pending', kind: 'number', phone: 'named' },
      ...(button === null ? [] : [{ label: 'Action', kind: 'actions' as const }]),
    ],
    rows: ailing.map((webhook) => [
      html`
        <a href="/webhooks/${webhook.id}">${webhook.name}</a>
        ${owners.webhooks.hintOf(webhook.id)}
        <span class="cell-hint">to ${webhook.endpointName}</span>
      `,
      stateBadge(webhook.state),
      problemOf(webhook, owners, causesOf(webhook.id)),
      lengthTime(webhook.since, now),
      webhook.waiting === 0
        ? 0
        : html`<a href="/deliveries?webhook=${webhook.id}&state=pending">${countText(webhook.waiting)}</a>`,
      ...(button === null ? [] : [isRunnable(webhook.state) ? null : button(webhook)]),
    ]),
    rowIds: ailing.map(({ id }) => `problem-${id}`),
    live: ['problem', 'problems'],
    empty: html``,
  });
}

/** The problem, the advice below it, and where its failures and its dead deliveries are. */
function problemOf({ id, name, state, reason, detail }: Ailing, owners: ProblemOwners, causes: readonly Cause[]): Html {
  const dead = causes.reduce((sum, cause) => sum + cause.dead, 0);
  const links = [
    dead === 0
      ? null
      : html`<a href="/deliveries?webhook=${id}&state=dead" aria-label="${countText(dead)} dead: ${name}">${countText(dead)} dead</a> · `,
    state === 'stopped'
      ? null
      : html`<a href="/deliveries/failures?webhook=${id}" aria-label="Failures by cause: ${name}">Failures by cause</a>`,
  ];
  const failures = links.every((link) => link === null)
    ? null
    : html`<span class="cell-hint is-sentence">${links}</span>`;
  if (reason === null) return html`<span class="quiet">–</span>${failures}`;
  const known = STATE_REASONS[reason as StopReason] as string | undefined;
  if (known !== undefined) return html`${reason === 'too_many_dead' && dead === 0 ? NO_DEAD_LEFT : known} ${failures}`;
  const latest = [reason, detail] as const;
  return html`
    ${failingCauses(causes, latest) ?? sentence(detail ?? reason)}
    ${' '}
    <span class="cell-hint is-sentence">${failingAdvice(causes, latest, owners.customerId)}</span>
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
  { customerId, directory, overview, expiry, deliveries, stateHistory }: AttentionStore,
  now: number,
): Promise<Omit<Attention, 'now' | 'startButton'>> {
  const [states, ailing, expiries] = await Promise.all([
    directory.states(customerId),
    overview.ailing(customerId, AILING_SHOWN),
    expiry.all(customerId, EXPIRIES_SHOWN),
  ]);
  const expiring = expiries.filter(({ expiresAt }) => expiresAt <= now + EXPIRY_WARNING_MS);
  const [begun, causesOf] = await Promise.all([
    Promise.all(ailing.map((webhook) => begunAt(stateHistory, webhook))),
    readCausesOf(
      { deliveries },
      ailing.map(({ webhookNumber }) => webhookNumber),
    ),
  ]);
  const told = ailing.map((webhook, at) => ({ ...webhook, since: begun[at] ?? webhook.since }));
  return { webhooks: webhooksIn(states), ailing: told, expiring, causesOf };
}

/** Since when a failing webhook fails, by the rule of its own page. Null for others. */
async function begunAt(
  stateHistory: Store['stateHistory'],
  { id, state, since }: Pick<Ailing, 'id' | 'state' | 'since'>,
): Promise<number | null> {
  if (state !== 'failing') return null;
  return failsSince({ state, failingSinceAt: since }, await stateHistory.ofWebhook(id, STATES_READ));
}

function webhooksIn(states: Readonly<Partial<Record<WebhookState, number>>>): Attention['webhooks'] {
  const present = Object.keys(states) as readonly WebhookState[];
  return present.some(isRunnable) ? 'started' : present.length > 0 ? 'none started' : 'none';
}
