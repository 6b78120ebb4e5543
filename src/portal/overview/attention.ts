/** What needs attention: webhooks that do not deliver, and keys and certificates that expire soon. */
import { type Html, html } from '../../http/html.ts';
import { adviceFor, type ErrorClass } from '../../outbound/outcome.ts';
import type { Expiry } from '../../store/housekeeping.ts';
import type { Ailing } from '../../store/overview.ts';
import { STATE_REASONS, type StopReason } from '../../webhooks/lifecycle.ts';
import { badge, stateBadge } from '../parts/badge.ts';
import { section } from '../parts/header.ts';
import { notice } from '../parts/notice.ts';
import { countText } from '../parts/number.ts';
import { sentence } from '../parts/sentence.ts';
import { table } from '../parts/table.ts';
import { relativeTime } from '../parts/time.ts';

type Attention = {
  readonly ailing: readonly Ailing[];
  /** Expired or about to expire. */
  readonly expiring: readonly Expiry[];
  readonly now: number;
};

export function attentionSection({ ailing, expiring, now }: Attention): Html {
  const count = ailing.length + expiring.length;
  const content =
    count === 0
      ? notice({
          tone: 'positive',
          text: 'Every webhook that was started delivers, and no key or certificate ends soon.',
        })
      : html`${ailing.length === 0 ? null : ailingTable(ailing, now)}${expiring.length === 0 ? null : expiringTable(expiring, now)}`;
  return section({ title: 'What needs you', id: 'attention', content, isPlain: count > 0 });
}

function ailingTable(ailing: readonly Ailing[], now: number): Html {
  return table({
    caption: 'Webhooks that do not deliver',
    columns: [
      { label: 'Webhook', kind: 'main' },
      { label: 'State' },
      { label: 'Why' },
      { label: 'Since' },
      { label: 'Waiting', kind: 'number' },
    ],
    rows: ailing.map((webhook) => [
      html`<a href="/webhooks/${webhook.id}">${webhook.name}</a><span class="cell-hint">to ${webhook.endpointName}</span>`,
      stateBadge(webhook.state),
      why(webhook),
      relativeTime(webhook.since, now),
      webhook.waiting === 0
        ? '0'
        : html`<a href="/deliveries?webhook=${webhook.id}&state=pending">${countText(webhook.waiting)}</a>`,
    ]),
    empty: html``,
  });
}

/** The problem, and the advice below it. */
function why({ reason, detail }: Ailing): Html {
  if (reason === null) return html`<span class="quiet">–</span>`;
  const known = STATE_REASONS[reason as StopReason] as string | undefined;
  if (known !== undefined) return html`${known}`;
  return html`${sentence(detail ?? reason)}<span class="cell-hint">${adviceFor(reason as ErrorClass)}</span>`;
}

function expiringTable(expiring: readonly Expiry[], now: number): Html {
  return table({
    caption: 'Keys and certificates that end soon',
    columns: [{ label: 'Name', kind: 'main' }, { label: 'Kind' }, { label: 'Ends' }, { label: 'What then' }],
    rows: expiring.map(({ kind, id, name, expiresAt }) => {
      const path = kind === 'key' ? 'keys' : 'endpoints';
      const isOver = expiresAt <= now;
      return [
        html`<a href="/${path}/${id}">${name}</a>`,
        KINDS[kind],
        html`${badge(isOver ? 'negative' : 'caution', isOver ? 'ended' : 'ends', 'clock')} ${relativeTime(expiresAt, now)}`,
        CONSEQUENCES[kind],
      ];
    }),
    empty: html``,
  });
}

const KINDS: Readonly<Record<Expiry['kind'], string>> = { key: 'PGP key', certificate: 'Client certificate' };
const CONSEQUENCES: Readonly<Record<Expiry['kind'], string>> = {
  key: 'Webhooks that encrypt with it stop, and their records wait.',
  certificate: 'Receivers that ask for it refuse what is sent.',
};
