/** `/events/{id}`: a published event, who got it, and why every other subscribed webhook did not. */
import { EVERYONE, OPERATOR_ONLY } from '../../domain/event.ts';
import type { Delivery } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { PublishedEvent } from '../../store/port/events.ts';
import { type MissedBy, missedBy } from '../../webhooks/missed.ts';
import { type PageCall, pathId, type View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { copyable, definitionList } from '../parts/details.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { table } from '../parts/list.ts';
import { notice, stateBadge } from '../parts/mark.ts';
import { countOf, time } from '../parts/text.ts';
import { ownerNames } from '../record/owner.ts';

export const EVENTS_PATH = '/events';

const DELIVERIES_SHOWN = 100;

type OwnerIn = Awaited<ReturnType<typeof ownerNames>>;

type Shown = {
  readonly event: PublishedEvent;
  readonly deliveries: readonly Delivery[];
  readonly missed: MissedBy;
  readonly ownerIn: OwnerIn;
};

export function publishedEventPage({ pages, services, store }: PageDependencies): PageRoute<'operator'> {
  return pages.view(`${EVENTS_PATH}/{id}`, 'operator', async (call) => {
    const id = pathId(call);
    const [event, { items }] = await Promise.all([
      store.events.find(id),
      services.deliveries.list({ eventId: id }, null, DELIVERIES_SHOWN + 1),
    ]);
    if (event === null) throw new Refusal('not_found', 'there is no such event, or it is not kept any more');
    const missed = await missedBy(store, event, new Set(items.map(({ webhookId }) => webhookId)));
    const { audience } = event;
    const addressee = audience === EVERYONE || audience === OPERATOR_ONLY ? [] : [{ customerId: audience }];
    const ownerIn = await ownerNames(store, [...items, ...missed.missed, ...addressee]);
    return eventView(call, { event, deliveries: items, missed, ownerIn });
  });
}

function eventView({ may }: PageCall, { event, deliveries, missed, ownerIn }: Shown): View {
  const { id, type, audience, subject, createdAt } = event;
  const title = `Event ${type}`;
  const another = new URLSearchParams({ type, ...(ownerIn(audience) !== null && { customer: audience }) });
  return {
    title,
    content: html`
      ${pageHeader({
        title,
        crumbs: [{ href: '/deliveries', label: 'Deliveries' }],
        actions: [
          may('operator') ? linkButton({ href: `/publish?${another}`, label: 'Publish another', icon: 'send' }) : null,
        ],
      })}
      ${section({
        title: 'Event',
        content: definitionList([
          ['Event id', copyable(id), 'messageId in every record of it.'],
          ['Type', html`<code>${type}</code>`],
          ['For', audienceText(audience, ownerIn)],
          ...(subject === null ? [] : [['Subject', subject] as const]),
          ['Published', time(createdAt)],
        ]),
      })}
      ${deliveries.length === 0 ? nobody(type, audience, missed) : gotIt(id, deliveries, ownerIn)}
      ${missed.missed.length === 0 ? null : missedIt(missed, ownerIn)}
    `,
  };
}

function audienceText(audience: string, ownerIn: OwnerIn): Html | string {
  if (audience === EVERYONE) return 'Everyone: every customer, and your own';
  if (audience === OPERATOR_ONLY) return 'Only your own webhooks';
  return html`${ownerIn(audience) ?? 'a customer that was deleted'}`;
}

function gotIt(id: string, deliveries: readonly Delivery[], ownerIn: OwnerIn): Html {
  const isMore = deliveries.length > DELIVERIES_SHOWN;
  const count = countOf(Math.min(deliveries.length, DELIVERIES_SHOWN), 'webhook');
  return section({
    title: isMore ? `More than ${count} got it` : `${count} got it`,
    isPlain: true,
    actions: [linkButton({ href: `/deliveries?q=${id}`, label: 'Follow them live', icon: 'play', kind: 'quiet' })],
    content: table({
      caption: 'The deliveries of the event',
      columns: [
        { label: 'Webhook', kind: 'main' },
        { label: 'State', phone: 'state' },
        { label: 'Attempts', kind: 'number', phone: 'named' },
      ],
      rows: deliveries
        .slice(0, DELIVERIES_SHOWN)
        .map((delivery) => [
          html`<a href="/deliveries/${delivery.id}">${delivery.webhookName}</a>${ownerIn(delivery.customerId)}`,
          html`${stateBadge(delivery.state)}${waits(delivery)}`,
          delivery.attemptCount,
        ]),
      empty: html``,
    }),
  });
}

function waits({ state, webhookState }: Delivery): Html | null {
  if (state !== 'pending' || isRunnable(webhookState)) return null;
  const why = webhookState === 'failed' ? 'it failed' : 'it is stopped';
  return html`<span class="cell-hint">It waits until the webhook is started: ${why}.</span>`;
}

function nobody(type: string, audience: string, { total, ofCustomers }: MissedBy): Html {
  const subscribe = total === 1 ? 'subscribes' : 'subscribe';
  const text =
    total === 0
      ? html`No webhook subscribes to <code>${type}</code>.`
      : audience === OPERATOR_ONLY && ofCustomers === total
        ? html`
          ${countOf(total, 'webhook')} of customers ${subscribe} to <code>${type}</code>, but this event names no
          customer.
        `
        : html`${countOf(total, 'webhook')} ${subscribe} to <code>${type}</code>. The reasons are below.`;
  return notice({ tone: 'caution', title: 'Nobody got it.', text });
}

function missedIt({ missed, more }: MissedBy, ownerIn: OwnerIn): Html {
  return section({
    title: 'Subscribed, but did not get it',
    isPlain: true,
    content: html`
      ${table({
        caption: 'Subscribed webhooks that did not get the event',
        columns: [{ label: 'Webhook', kind: 'main' }, { label: 'Why not' }],
        rows: missed.map(({ id, name, customerId, reason }) => [
          html`<a href="/webhooks/${id}">${name}</a>${ownerIn(customerId)}`,
          reason,
        ]),
        empty: html``,
      })}
      ${more > 0 ? html`<p class="quiet">${countOf(more, 'more webhook')} subscribe to it, and are not listed.</p>` : null}
    `,
  });
}
