/** The page of a webhook: its header with the tabs, the figures, and dead deliveries. */
import { type Endpoint, isUnverified } from '../../domain/endpoint.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { successRate } from '../../observe/figures.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import type { WebhookListing } from '../../store/port/directory.ts';
import type { PageCall } from '../frame/call.ts';
import { figures } from '../parts/details.ts';
import { actionButton, type ButtonKind, linkButton, pageHeader } from '../parts/header.ts';
import { attemptsText, figureTone } from '../parts/health.ts';
import { icon, notice, stateBadge } from '../parts/mark.ts';
import { capital, countOf, countText, relativeTime, shareText, spanText } from '../parts/text.ts';
import { deadCauses } from '../record/causes.ts';
import { type DeadRecords, deadKept, deadText, replayLink } from '../record/dead-records.ts';
import { type RecordTab, recordFacts, recordTabs } from '../record/record-tabs.ts';
import {
  failsBriefly,
  failuresOf,
  isInTrouble,
  lastAttemptAt,
  stateLine,
  stateNotice,
  type WebhookHealth,
} from '../record/webhook-state.ts';

type WebhookFigures = WebhookHealth & { readonly oldestAt: number | null };

/** The values that each tab of a webhook's page has. */
export type Status = {
  readonly listing: WebhookListing;
  readonly owner: OwnerName | null;
  /** Whether it is the operator's own beside those of customers. */
  readonly isOwn: boolean;
  /** The endpoint that keeps it from starting: disabled or not verified. Null if none does. */
  readonly barrier: Endpoint | null;
  /** How long dead deliveries are kept; 0: forever. */
  readonly deadDays: number;
  readonly figures: WebhookFigures;
  /** Who stopped it; null if it was not a person. */
  readonly stoppedBy: Html | null;
  readonly hasPage: (path: string) => boolean;
};

/** Ids of what only one tab has. The address of a reader is with the activity until it has read something. */
function anchorsOf(webhook: Webhook): Parameters<typeof recordTabs>[3] {
  const reader = hasReaderBegun(webhook)
    ? { settings: ['reader'], activity: [] }
    : { settings: [], activity: ['reader'] };
  return {
    activity: [
      'status',
      'throughput',
      'attempts',
      'deliveries',
      'waiting-keys',
      'samples',
      'test-button',
      ...reader.activity,
    ],
    settings: ['settings', 'events', 'requests', 'delivery', 'identification', 'delete', ...reader.settings],
    history: ['history'],
  };
}

export function hasReaderBegun({ progress }: Webhook): boolean {
  return progress.cursorOffset > 0;
}

/** The name, whose it is, the state in a line, what one does first, the problem, and the tabs. */
export function webhookHeader(call: PageCall, status: Status, tab: RecordTab): Html {
  const { listing, owner, isOwn, barrier, figures, stoppedBy, hasPage } = status;
  const { webhook, endpointName } = listing;
  const { id, name, endpointId, progress } = webhook;
  const destination =
    endpointId === null
      ? html`${icon('delivery')}Read by a program`
      : html`${icon('endpoint')}to <a href="/endpoints/${endpointId}">${endpointName}</a>`;
  const isOff = !isRunnable(progress.state);
  const isTroubled = isInTrouble(webhook, figures, call.now);
  const replay =
    call.may('operator') && figures.dead.records > 0 && barrier === null && hasPage('/deliveries/replay')
      ? replayLink({ id, name: webhook.name, state: progress.state }, figures.dead, isOff ? 'primary' : 'plain')
      : null;
  // The notice says the same with the cause. The other tabs have only the line.
  const isTold = progress.state === 'failing' && isTroubled && tab === 'activity';
  const line = isTold ? null : html`<p>${stateLine(webhook, figures, call.now, stoppedBy)}</p>`;
  const shown = failsBriefly(progress, figures.day, call.now) ? 'running' : progress.state;
  return html`
    ${pageHeader({
      title: name,
      crumbs: [{ href: '/webhooks', label: 'Webhooks' }],
      badges: [html`<span id="state">${stateBadge(shown)}</span>`],
      lead: html`${recordFacts(owner, [destination], isOwn)}${line}`,
      actions: [
        call.may('administrator') ? linkButton({ href: `/webhooks/${id}/edit`, label: 'Change', icon: 'edit' }) : null,
        call.may('operator') && !isOff ? startOrStop(call, webhook, 'plain') : null,
        isOff ? null : replay,
        call.may('operator') && webhook.mode === 'push' && barrier === null
          ? testLink(webhook, isOff || isTroubled ? 'plain' : 'primary')
          : null,
        // The notice of one that failed has the link.
        isTroubled && !isOff && hasPage('/deliveries/failures') ? failuresLink(webhook) : null,
        call.may('operator') && isOff && barrier === null
          ? startOrStop(call, webhook, replay === null ? 'primary' : 'plain')
          : null,
        barrier === null ? null : barrierButton(call, barrier),
        isOff ? replay : null,
      ],
    })}
    ${
      isTroubled && tab !== 'activity'
        ? null
        : stateNotice(webhook, figures, {
            now: call.now,
            reader: call.session.customerId,
            mayAct: call.may('operator'),
            pending: listing.pendingRecords,
            endpoint: endpointId === null ? null : { id: endpointId, name: endpointName ?? '' },
          })
    }
    ${recordTabs(`The webhook ${name}`, `/webhooks/${id}`, tab, anchorsOf(webhook))}
  `;
}

/** An endpoint that keeps the webhook from starting, why deliveries are dead, and the figures. The header sends them again. */
export function statusRegion(call: PageCall, status: Status): Html {
  const { listing, barrier, figures: counted } = status;
  const { webhook } = listing;
  const cannotStart =
    barrier === null
      ? null
      : notice({
          tone: 'caution',
          title: `Its endpoint is ${isUnverified(barrier) ? 'not verified' : 'disabled'}.`,
          text: html`
            <p>
              The webhook cannot start or send a test event until
              <a href="/endpoints/${barrier.id}">${barrier.name}</a>${' '}
              ${isUnverified(barrier) ? 'passes its challenge' : 'is enabled'}.
            </p>
          `,
        });
  return html`
    <div id="status" class="status">
      ${cannotStart}
      ${deadNotice(webhook, counted)}
      ${webhookFigures(call, status)}
    </div>
  `;
}

/** Verifies or enables its endpoint, so that it can start. Null if the visitor may not. */
function barrierButton(call: PageCall, endpoint: Endpoint): Html | null {
  const { id, name } = endpoint;
  const { csrf } = call;
  if (isUnverified(endpoint)) {
    if (!call.may('operator')) return null;
    const texts = { label: 'Verify now', longLabel: `Verify now: the endpoint ${name}` };
    return actionButton({
      action: `/endpoints/${id}/verify`,
      csrf,
      id: 'verify-button',
      ...texts,
      icon: 'check',
      kind: 'primary',
    });
  }
  if (!call.may('administrator')) return null;
  const texts = { label: 'Enable the endpoint', longLabel: `Enable the endpoint ${name}` };
  return actionButton({
    action: `/endpoints/${id}/enable`,
    csrf,
    id: 'enable-button',
    ...texts,
    icon: 'play',
    kind: 'primary',
  });
}

/** Leads to the form, which asks for the event type. */
function testLink({ id }: Webhook, kind: ButtonKind): Html {
  return linkButton({ href: `/webhooks/${id}#samples`, label: 'Send a test event', kind, icon: 'send' });
}

function failuresLink({ id, name }: Webhook): Html {
  return linkButton({
    href: failuresOf(id),
    label: 'See failures',
    longLabel: `See failures of ${name}`,
    kind: 'primary',
    icon: 'warning',
  });
}

function startOrStop({ csrf }: PageCall, { id, name, progress }: Webhook, kind: ButtonKind): Html {
  const verb = isRunnable(progress.state) ? 'stop' : 'start';
  const label = verb === 'stop' ? 'Stop' : 'Start';
  return actionButton({
    action: `/webhooks/${id}/${verb}`,
    csrf,
    id: `${verb}-button`,
    label,
    longLabel: `${label} the webhook ${name}`,
    icon: verb === 'stop' ? 'stop' : 'play',
    kind,
  });
}

function webhookFigures({ now }: PageCall, { listing, figures: counted, deadDays, hasPage }: Status): Html {
  const { webhook, pendingRecords } = listing;
  const { dead, oldestAt, day, deliveredAt, failure } = counted;
  const { id, progress } = webhook;
  const link = (state: string): { href?: string } =>
    hasPage('/deliveries') ? { href: `/deliveries?webhook=${id}&state=${state}` } : {};
  if (webhook.mode === 'pull') return readerFigures(webhook, { now, pendingRecords, oldestAt }, link('pending'));
  const rate = day === undefined ? null : successRate(day);
  const lastAttempt = lastAttemptAt(progress, { deliveredAt, failure });
  return figures([
    {
      label: 'Succeeded, 24 h',
      value: rate === null ? '–' : shareText(rate),
      tone: figureTone(rate),
      hint: rate === null || day === undefined ? 'no attempts in 24 h' : attemptsText(day),
    },
    {
      label: 'Pending',
      value: countText(pendingRecords),
      hint: oldestAt === null ? 'No delivery is pending' : html`oldest ${relativeTime(oldestAt, now)}`,
      ...link('pending'),
    },
    {
      label: 'Dead',
      value: deadText(dead),
      tone: dead.records > 0 ? 'negative' : 'neutral',
      hint: dead.records > 0 ? deadKept(deadDays) : 'No delivery is dead',
      ...link('dead'),
    },
    { label: 'Events matched', value: countText(progress.nextOffset), hint: 'since it was created' },
    {
      label: 'Last attempt',
      value: relativeTime(lastAttempt, now),
      hint: webhook.heartbeatSeconds > 0 && lastAttempt !== null ? 'heartbeats included' : undefined,
    },
  ]);
}

/** How far the reader of a webhook in mode `pull` is. */
function readerFigures(
  { progress }: Webhook,
  { now, pendingRecords, oldestAt }: { now: number; pendingRecords: number; oldestAt: number | null },
  pendingLink: { href?: string },
): Html {
  return figures([
    {
      label: 'Pending',
      value: countText(pendingRecords),
      hint: oldestAt === null ? 'Everything is acknowledged' : html`oldest ${relativeTime(oldestAt, now)}`,
      ...pendingLink,
    },
    {
      label: 'Acknowledged through',
      value: progress.cursorOffset === 0 ? '–' : `#${countText(progress.cursorOffset - 1)}`,
      hint: 'the offset at which the next read begins',
    },
    {
      label: 'Lag',
      value: oldestAt === null ? '–' : spanText(now - oldestAt),
      hint: 'age of the oldest pending record',
    },
    { label: 'Events matched', value: countText(progress.nextOffset), hint: 'since it was created' },
    { label: 'Last acknowledgement', value: relativeTime(progress.sentAt, now), hint: 'by its reader' },
  ]);
}

/** `12 deliveries`, or `more than 10,000 deliveries` if not all were counted. */
export function deadCount({ records, isWhole }: DeadRecords, kind: '' | 'dead ' = ''): string {
  const counted = countOf(isWhole ? records : records - 1, `${kind}delivery`, undefined, `${kind}deliveries`);
  return isWhole ? counted : `more than ${counted}`;
}

/** Why deliveries are dead, if there are several causes. The notice of a webhook that failed says it. */
function deadNotice({ id, progress }: Webhook, { dead, causes }: Pick<WebhookFigures, 'dead' | 'causes'>): Html | null {
  const why = dead.records === 0 || progress.state === 'failed' ? null : deadCauses(causes);
  if (why === null) return null;
  const title = `${capital(deadCount(dead))} ${dead.records === 1 ? 'is' : 'are'} dead.`;
  const failures = html`<a href="${failuresOf(id)}">Failures by cause</a>`;
  return notice({ tone: 'caution', text: html`<p><strong>${title}</strong> ${why} ${failures}</p>` });
}
