/** Events, deliveries and the audit log (contract §4.2). */

import { z } from 'zod';
import { actingOf } from '../../access/callers.ts';
import { EVENT_REQUEST_BYTES } from '../../domain/limits.ts';
import type { DeliveryState } from '../../domain/webhook.ts';
import { eventBatchInput, eventInput, readingEvents } from '../../events/event-input.ts';
import { acceptedView } from '../../events/publish.ts';
import { Refusal, refuseBackwards, refuseField } from '../../kernel/refusal.ts';
import { customerIdView, id, instant, isoInstant, moment, NOT_A_MOMENT, page } from '../../kernel/schemas.ts';
import { slices } from '../../kernel/slices.ts';
import { CUSTOMER_FILTER, type Filters, textFilter } from '../../resources/list-rules.ts';
import type { SharedServices } from '../../services/services.ts';
import type { AuditFilter, AuditRecord } from '../../store/port/audit.ts';
import type { Store } from '../../store/port/store.ts';
import {
  type DeliverySearch,
  deliveryView,
  deliveryWithAttempts,
  viewDelivery,
  viewWithAttempts,
} from '../../webhooks/deliveries.ts';
import { ETAG, IF_NONE_MATCH, NOT_MODIFIED, read, requireMatch } from '../conditional.ts';
import { PAGE_QUERY, pageReply, readFilter, readPageQuery } from '../paging.ts';
import { actionRoute, guardedRoute, idInPath, okReply } from '../resource-routes.ts';
import { jsonBody, type Route, requireCaller } from '../route.ts';

type Dependencies = {
  readonly services: Pick<SharedServices, 'publish' | 'deliveries'>;
  readonly store: Pick<Store, 'audit'>;
};

const AUDIT_TEXTS: Filters = {
  customerId: CUSTOMER_FILTER,
  actor: textFilter('By this actor, such as `user:<id>`; for customers also `operator`.'),
  action: textFilter('This action, or with a dot at its end all of its kind: `webhook.start`, `webhook.`.'),
  target: textFilter('About this, or with a colon at its end about all of its kind: `webhook:<id>`, `webhook:`.'),
};
const PERIOD = {
  since: { schema: moment, description: 'The first instant of the range.' },
  until: { schema: moment, description: 'The end of the range, exclusive.' },
} as const;

const state = z.enum(['pending', 'delivered', 'dead', 'discarded']);

const auditView = z
  .object({
    id,
    at: instant,
    actor: z.string(),
    action: z.string(),
    target: z.string(),
    customerId: customerIdView,
    changes: z.record(z.string(), z.object({ from: z.unknown(), to: z.unknown() })),
  })
  .meta({ id: 'AuditEntry', description: 'Who changed what; secrets are masked.' });

export function eventRoutes({ services: { publish, deliveries }, store: { audit } }: Dependencies): Route<'both'>[] {
  return [publishRoute(publish), ...deliveryRoutes(deliveries), ...auditRoutes(audit)];
}

function publishRoute(publish: Dependencies['services']['publish']): Route<'both'> {
  return guardedRoute('POST', 'events', {
    for: 'both',
    tag: 'events',
    operationId: 'publishEvents',
    summary: 'Publish events',
    description: 'One event, or up to 1,000: all are accepted, or none. They are durable before the reply.',
    body: jsonBody(z.union([eventInput, eventBatchInput]), { maxBytes: EVENT_REQUEST_BYTES, isBytes: true }),
    replies: {
      202: { description: 'Accepted', schema: acceptedView },
      409: { description: 'An idempotency key was used before with other content; no event is stored' },
      429: {
        description:
          'The events exceed what a customer may get each second, or too many large requests of a ' +
          'customer are in progress; none of them is kept',
      },
    },
    respond: async (call) => {
      const caller = requireCaller(call);
      const body = call.body as Buffer;
      const events = await slices(caller.customerId, readingEvents(body), body.length);
      return { status: 202, body: await publish(events, actingOf(caller)) };
    },
  });
}

function deliveryRoutes(deliveries: Dependencies['services']['deliveries']): Route<'both'>[] {
  return [
    guardedRoute('GET', 'deliveries', {
      for: 'both',
      tag: 'deliveries',
      operationId: 'listDeliveries',
      summary: 'List deliveries',
      description:
        'The newest event comes first. ' +
        'A page looks at a bounded number of records. Where hardly any fits several filters together it may ' +
        'hold fewer items than asked for, or none, and still have a `nextCursor`: go on until that is null.',
      query: {
        ...PAGE_QUERY,
        customerId: { schema: z.string(), description: 'Only deliveries to webhooks of this customer.' },
        webhookId: { schema: z.string(), description: 'Of this webhook.' },
        state: { schema: state, description: 'In this state.' },
        eventType: { schema: z.string(), description: 'Of this event type.' },
        orderingKey: { schema: z.string(), description: 'Only events with this ordering key.' },
        since: { schema: moment, description: 'Only events at or after this instant.' },
        until: { schema: moment, description: 'Only events before this instant.' },
      },
      replies: { 200: { description: 'A page of deliveries', schema: page(deliveryView) } },
      respond: async ({ query }) => {
        const { cursor, limit } = readPageQuery(query);
        const { items, next } = await deliveries.list(readDeliverySearch(query), cursor, limit);
        return okReply({ items: items.map(viewDelivery), nextCursor: next });
      },
    }),
    guardedRoute('GET', 'deliveries/{id}', {
      for: 'both',
      tag: 'deliveries',
      operationId: 'getDelivery',
      summary: 'Read a delivery and its attempts',
      headers: IF_NONE_MATCH,
      replies: { 200: { description: 'The delivery', schema: deliveryWithAttempts, headers: ETAG }, ...NOT_MODIFIED },
      respond: async (call) => read(call, viewWithAttempts(await deliveries.get(idInPath(call)))),
    }),
    actionRoute('deliveries', 'replay', 'Send a delivery again', {
      for: 'both',
      operationId: 'replayDelivery',
      description: 'Sends a delivered or dead delivery again, and a pending one now.',
      replies: { 200: { description: 'The delivery as it is now', schema: deliveryView } },
      respond: async (call, id, acting) => {
        requireMatch(call, viewWithAttempts(await deliveries.get(id)), 'delivery');
        return okReply(viewDelivery(await deliveries.replay(id, acting)));
      },
    }),
  ];
}

function auditRoutes(audit: Dependencies['store']['audit']): Route<'both'>[] {
  return [
    guardedRoute('GET', 'audit', {
      for: 'both',
      tag: 'audit',
      operationId: 'listAuditEntries',
      summary: 'List the audit log',
      description: 'The newest entry comes first.',
      query: { ...PAGE_QUERY, ...AUDIT_TEXTS, since: PERIOD.since, until: PERIOD.until },
      replies: { 200: { description: 'A page of entries', schema: page(auditView) } },
      respond: ({ query }) => {
        const asked = readPageQuery(query);
        const filter = readAuditFilter(query);
        return pageReply(
          asked,
          (limit) => audit.list(asked.cursor, limit, filter),
          viewAudit,
          ({ id }) => id,
        );
      },
    }),
    guardedRoute('GET', 'audit/{id}', {
      for: 'both',
      tag: 'audit',
      operationId: 'getAuditEntry',
      summary: 'Read an audit entry',
      headers: IF_NONE_MATCH,
      replies: { 200: { description: 'The entry', schema: auditView, headers: ETAG }, ...NOT_MODIFIED },
      respond: async (call) => {
        const entry = await audit.get(idInPath(call));
        if (entry === null) throw new Refusal('not_found', 'there is no such audit entry');
        return read(call, viewAudit(entry));
      },
    }),
  ];
}

function readDeliverySearch(query: URLSearchParams): DeliverySearch {
  const customerId = query.get('customerId');
  const webhookId = query.get('webhookId');
  const eventType = query.get('eventType');
  const orderingKey = query.get('orderingKey');
  const since = readMoment(query, 'since');
  const until = readMoment(query, 'until');
  refuseBackwards(since, until);
  return {
    ...(customerId === null ? {} : { customerId }),
    ...(webhookId === null ? {} : { webhookId }),
    ...(eventType === null ? {} : { eventType }),
    ...(orderingKey === null ? {} : { orderingKey }),
    ...(query.has('state') ? { state: readState(query.get('state')) } : {}),
    ...(since === null ? {} : { since }),
    ...(until === null ? {} : { until }),
  };
}

/** A value that ends with the separator of actions or targets matches all that begin with it; any other value matches exactly. */
function readAuditFilter(query: URLSearchParams): AuditFilter {
  const { customerId, actor, action, target } = readFilter(query, AUDIT_TEXTS);
  const since = readMoment(query, 'since');
  const until = readMoment(query, 'until');
  refuseBackwards(since, until);
  return {
    ...(customerId !== undefined && { customerId }),
    ...(actor !== undefined && { actor }),
    ...(action !== undefined && (action.endsWith('.') ? { action } : { exactAction: action })),
    ...(target !== undefined && (target.endsWith(':') ? { target } : { exactTarget: target })),
    ...(since !== null && { since }),
    ...(until !== null && { until }),
  };
}

function readState(text: string | null): DeliveryState {
  const parsed = state.safeParse(text);
  if (!parsed.success) throw refuseField('state', `must be one of ${state.options.join(', ')}`);
  return parsed.data;
}

function readMoment(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null) return null;
  if (!moment.safeParse(text).success) throw refuseField(name, NOT_A_MOMENT);
  return Date.parse(text);
}

function viewAudit({ id, at, actor, action, target, customerId, changes }: AuditRecord): Record<string, unknown> {
  return { id, at: isoInstant(at), actor, action, target, customerId, changes };
}
