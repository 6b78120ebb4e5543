/** The section *Problems*: webhooks that do not deliver, keys and certificates that expire soon, and what helps. */
import { EXPIRY_WARNING_MS } from '../../domain/limits.ts';
import { adviceForMessage } from '../../domain/outcome.ts';
import type { WebhookState } from '../../domain/webhook.ts';
import { isRunnable, NO_DEAD_LEFT, STATE_REASONS, type StopReason } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { Expiry } from '../../store/port/housekeeping.ts';
import type { Ailing } from '../../store/port/overview.ts';
import type { Store } from '../../store/port/store.ts';
import { linkButton, section } from '../parts/header.ts';
import { AILING_SHOWN, EXPIRIES_SHOWN } from '../parts/limits.ts';
import { table } from '../parts/list.ts';
import { badge, notice, stateBadge } from '../parts/mark.ts';
import { countText, relativeTime, sentence } from '../parts/text.ts';
import { NO_OWNERS, type RecordOwners } from '../record/owner.ts';

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
  /** False: nothing is left to be sent again. Absent where nobody counted. */
  readonly hasDead?: boolean;
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
  hasDead = true,
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
        ${ailing.length === 0 ? null : ailingTable(ailing, owners, { now, startButton, hasDead })}
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
  { now, startButton, hasDead }: Pick<Attention, 'now' | 'startButton'> & { readonly hasDead: boolean },
): Html {
  return table({
    caption: 'Webhooks with problems',
    columns: [
      { label: 'Webhook', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Problem', phone: 'plain' },
      { label: 'Since', phone: 'named' },
      { label: 'Pending', kind: 'number', phone: 'named' },
      ...(startButton === null ? [] : [{ label: 'Action', kind: 'actions' as const }]),
    ],
    rows: ailing.map((webhook) => [
      html`
        <a href="/webhooks/${webhook.id}">${webhook.name}</a>
        ${owners.webhooks.hintOf(webhook.id)}
        <span class="cell-hint">to ${webhook.endpointName}</span>
      `,
      stateBadge(webhook.state),
      problemOf(webhook, owners, { hasButton: startButton !== null && isRunnable(webhook.state), hasDead }),
      relativeTime(webhook.since, now),
      webhook.waiting === 0
        ? 0
        : html`<a href="/deliveries?webhook=${webhook.id}&state=pending">${countText(webhook.waiting)}</a>`,
      ...(startButton === null ? [] : [isRunnable(webhook.state) ? failuresButton(webhook) : startButton(webhook)]),
    ]),
    empty: html``,
  });
}

function failuresButton({ id, name }: Ailing): Html {
  return linkButton({
    href: `/deliveries/failures?webhook=${id}`,
    label: 'See failures',
    longLabel: `See the failures of ${name}`,
  });
}

/** The problem, the advice below it, and where its failures are, unless a button leads there. */
function problemOf(
  { id, name, state, reason, detail }: Ailing,
  owners: ProblemOwners,
  { hasButton, hasDead }: { readonly hasButton: boolean; readonly hasDead: boolean },
): Html {
  const failures =
    state === 'stopped' || hasButton
      ? null
      : html`
        <span class="cell-hint is-sentence">
          <a href="/deliveries/failures?webhook=${id}" aria-label="Failures by cause: ${name}">Failures by cause</a>
        </span>
      `;
  if (reason === null) return html`<span class="quiet">–</span>${failures}`;
  const known = STATE_REASONS[reason as StopReason] as string | undefined;
  if (known !== undefined) return html`${reason === 'too_many_dead' && !hasDead ? NO_DEAD_LEFT : known} ${failures}`;
  return html`
    ${sentence(detail ?? reason)}
    ${' '}
    <span class="cell-hint is-sentence">${adviceForMessage(owners.customerId, reason, detail)}</span>
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
    empty: html``,
  });
}

const KINDS: Readonly<Record<Expiry['kind'], string>> = { key: 'PGP key', certificate: 'Client certificate' };
const CONSEQUENCES: Readonly<Record<Expiry['kind'], string>> = {
  key: 'Webhooks that use it stop, and their deliveries wait.',
  certificate: 'Receivers that require it reject the requests.',
};

/** Reads the entries of the section *Problems*: of the customer of the store, or of everyone. */
export async function readAttention(
  { customerId, directory, overview, expiry }: Pick<Store, 'customerId' | 'directory' | 'overview' | 'expiry'>,
  now: number,
): Promise<Omit<Attention, 'now' | 'startButton'>> {
  const [states, ailing, expiries] = await Promise.all([
    directory.states(customerId),
    overview.ailing(customerId, AILING_SHOWN),
    expiry.all(customerId, EXPIRIES_SHOWN),
  ]);
  const expiring = expiries.filter(({ expiresAt }) => expiresAt <= now + EXPIRY_WARNING_MS);
  return { webhooks: webhooksIn(states), ailing, expiring };
}

function webhooksIn(states: Readonly<Partial<Record<WebhookState, number>>>): Attention['webhooks'] {
  const present = Object.keys(states) as readonly WebhookState[];
  return present.some(isRunnable) ? 'started' : present.length > 0 ? 'none started' : 'none';
}
