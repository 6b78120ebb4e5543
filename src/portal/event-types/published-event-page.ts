/** `/events/{id}`: a published event, who got it, and why every other subscribed webhook did not. */
import { EVERYONE, OPERATOR_ONLY } from '../../domain/event.ts';
import type { Delivery } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { indentedJson } from '../../kernel/json-text.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { LastAttempt } from '../../store/port/deliveries.ts';
import type { PublishedEvent } from '../../store/port/events.ts';
import { type MissedBy, missedBy } from '../../webhooks/missed.ts';
import { deliveryBadge, isDue, progressOf, responseCell } from '../deliveries/delivery-rows.ts';
import { type PageCall, pathId, type View } from '../frame/call.ts';
import { liveContent } from '../frame/live-content.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { codeBlock, copyable, definitionList } from '../parts/details.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { table } from '../parts/list.ts';
import { notice } from '../parts/mark.ts';
import { countOf, time } from '../parts/text.ts';
import { EVENTS_PATH } from '../record/events-path.ts';
import { ownerNames } from '../record/owner.ts';

const DELIVERIES_SHOWN = 100;

type OwnerIn = Awaited<ReturnType<typeof ownerNames>>;

/** A delivery of the event with its last attempt; null: it was not tried yet. */
type Got = { readonly delivery: Delivery; readonly attempt: LastAttempt | null };

type Shown = {
  readonly event: PublishedEvent;
  readonly got: readonly Got[];
  readonly missed: MissedBy;
  readonly ownerIn: OwnerIn;
  /** Null: it is not shown. */
  readonly dataJson: string | null;
};

export function publishedEventPages({
  pages,
  services,
  store,
  feed,
  clock,
}: PageDependencies): PageRoute<'operator'>[] {
  const gotBy = async (id: string): Promise<readonly Got[]> => {
    const { items } = await services.deliveries.list({ eventId: id }, null, DELIVERIES_SHOWN + 1);
    const attempts = await store.attempts.lastOf(items);
    return items.map((delivery, at) => ({ delivery, attempt: attempts[at] ?? null }));
  };
  return [
    pages.view(`${EVENTS_PATH}/{id}`, 'operator', async (call) => {
      const id = pathId(call);
      const [event, got] = await Promise.all([store.events.find(id), gotBy(id)]);
      if (event === null) throw new Refusal('not_found', 'there is no such event, or it is not kept any more');
      const deliveries = got.map(({ delivery }) => delivery);
      const missed = await missedBy(store, event, new Set(deliveries.map(({ webhookId }) => webhookId)));
      const { audience } = event;
      const addressee = audience === EVERYONE || audience === OPERATOR_ONLY ? [] : [{ customerId: audience }];
      const ownerIn = await ownerNames(store, [...deliveries, ...missed.missed, ...addressee]);
      // Data that is only sent encrypted is not shown; that of an unknown type may be such.
      const isShown = (await store.eventTypes.getByName(event.type))?.encryptionRequired === false;
      return eventView(call, { event, got, missed, ownerIn, dataJson: isShown ? event.dataJson : null });
    }),
    pages.stream(`${EVENTS_PATH}/{id}/live`, 'operator', async (call) => {
      const id = pathId(call);
      if ((await store.events.find(id)) === null) throw new Refusal('not_found', 'there is no such event');
      return liveContent(feed, null, call.signal, async () => {
        const got = await gotBy(id);
        const now = clock();
        const deliveries = got.map(({ delivery }) => delivery);
        const ownerIn = await ownerNames(store, deliveries);
        const version = JSON.stringify([got, deliveries.map((delivery) => isDue(delivery, now))]);
        return { version, content: () => gotIt(id, got, ownerIn, now) };
      });
    }),
  ];
}

function eventView({ may, now }: PageCall, { event, got, missed, ownerIn, dataJson }: Shown): View {
  const { id, type, audience, subject, createdAt } = event;
  const live = attributes({ 'data-hx-sse:connect': `${EVENTS_PATH}/${id}/live`, 'data-hx-swap': 'innerMorph' });
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
          ['Event id', copyable(id), 'messageId in every request with it.'],
          ['Type', html`<code>${type}</code>`],
          ['For', audienceText(audience, ownerIn)],
          ...(subject === null ? [] : [['Subject', subject] as const]),
          ['Published', time(createdAt)],
        ]),
      })}
      ${
        got.length === 0
          ? nobody(type, audience, missed)
          : html`<div id="got-it" class="page-part"${live}>${gotIt(id, got, ownerIn, now)}</div>`
      }
      ${missed.missed.length === 0 ? null : missedIt(missed, ownerIn)}
      ${
        dataJson === null
          ? null
          : section({ title: 'Data', content: codeBlock({ code: indentedJson(dataJson), label: 'Event data' }) })
      }
    `,
  };
}

function audienceText(audience: string, ownerIn: OwnerIn): Html | string {
  if (audience === EVERYONE) return 'Everyone: every customer, and your company';
  if (audience === OPERATOR_ONLY) return 'Only your company';
  return html`${ownerIn(audience) ?? 'a customer that was deleted'}`;
}

function gotIt(id: string, got: readonly Got[], ownerIn: OwnerIn, now: number): Html {
  const shown = got.slice(0, DELIVERIES_SHOWN);
  return section({
    title: fateText(got.map(({ delivery }) => delivery)),
    isPlain: true,
    actions: [linkButton({ href: `/deliveries?q=${id}`, label: 'Follow them live', icon: 'play', kind: 'quiet' })],
    content: table({
      caption: 'The deliveries of the event',
      columns: [
        { label: 'Webhook', kind: 'main' },
        { label: 'State', phone: 'state' },
        { label: 'Response', phone: 'plain' },
        { label: 'Outcome', phone: 'plain' },
      ],
      rows: shown.map(({ delivery, attempt }) => [
        html`<a href="/deliveries/${delivery.id}">${delivery.webhookName}</a>${ownerIn(delivery.customerId)}`,
        deliveryBadge(delivery),
        responseCell(delivery, attempt),
        html`${progressOf(delivery, now)}${waits(delivery)}`,
      ]),
      rowIds: shown.map(({ delivery }) => `delivery-${delivery.id}`),
    }),
  });
}

type Fate = Pick<Delivery, 'state' | 'webhookState'>;

/** `Pending at 4 webhooks: 2 are not running`, and later `2 delivered, 2 wait`. Of the first hundred, if there are more. */
export function fateText(deliveries: readonly Fate[]): string {
  const listed = deliveries.slice(0, DELIVERIES_SHOWN);
  const isMore = deliveries.length > listed.length;
  const count = (is: (fate: Fate) => boolean): number => listed.filter(is).length;
  const pending = count(({ state }) => state === 'pending');
  const waiting = count(({ state, webhookState }) => state === 'pending' && !isRunnable(webhookState));
  const held = count(({ state, webhookState }) => state === 'pending' && webhookState === 'failing');
  if (pending === listed.length) {
    const all = `Pending at ${isMore ? 'more than ' : ''}${countOf(listed.length, 'webhook')}`;
    const troubles = [
      ...(held === 0 ? [] : [`${held} ${held === 1 ? 'is' : 'are'} failing`]),
      ...(waiting === 0 ? [] : [`${waiting} ${waiting === 1 ? 'is' : 'are'} not running`]),
    ];
    if (troubles.length === 0) return all;
    if (listed.length === 1) return `${all}, which is ${held === 1 ? 'failing' : 'not running'}`;
    return waiting === listed.length ? `${all}, none of which is running` : `${all}: ${troubles.join(', ')}`;
  }
  const parts = [
    [count(({ state }) => state === 'delivered'), 'delivered'],
    [pending - waiting - held, 'pending'],
    [held, held === 1 ? 'pending at a failing webhook' : 'pending at failing webhooks'],
    [waiting, waiting === 1 ? 'waits' : 'wait'],
    [count(({ state }) => state === 'dead'), 'dead'],
    [count(({ state }) => state === 'discarded'), 'discarded'],
  ] as const;
  const phrases = parts.filter(([many]) => many > 0).map(([many, what]) => `${many} ${what}`);
  return `${isMore ? `Of the first ${listed.length}: ` : ''}${phrases.join(', ')}`;
}

function waits({ state, webhookState }: Delivery): Html | null {
  if (state !== 'pending' || isRunnable(webhookState)) return null;
  return html`<span class="cell-hint">It waits until the webhook is started.</span>`;
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
        columns: [
          { label: 'Webhook', kind: 'main' },
          { label: 'Why not', phone: 'plain' },
        ],
        rows: missed.map(({ id, name, customerId, reason }) => [
          html`<a href="/webhooks/${id}">${name}</a>${ownerIn(customerId)}`,
          reason,
        ]),
      })}
      ${more > 0 ? html`<p class="quiet">${countOf(more, 'more webhook')} subscribe to it, and are not listed.</p>` : null}
    `,
  });
}
