/** Exports of other senders, in the form of their API's answers. */

import fc from 'fast-check';
import type { ImportOptions } from '../../src/importing/export-reader.ts';

export const IMPORT_OPTIONS: ImportOptions = {
  renamed: new Map(),
  headerPrefix: null,
  channelsAt: 'data.channels',
  retryDelaysSeconds: null,
  withoutSchemas: false,
};

/** An application of Svix with one endpoint, and its event type. `more` replaces members of the endpoint. */
export function svixExport(more: Readonly<Record<string, unknown>> = {}) {
  const at = '2026-08-21T20:24:36Z';
  const endpoint = {
    id: 'ep_1srOrx2ZWZBpBUvZwXKQmoEYga2',
    uid: null,
    url: 'https://hooks.example.com/svix',
    description: 'Orders of Acme',
    version: 1,
    disabled: false,
    eventTypes: ['order.created'],
    channels: null,
    throttleRate: null,
    metadata: {},
    createdAt: at,
    updatedAt: at,
    headers: { headers: {}, sensitive: [] as string[] },
    secret: { key: SVIX_SECRET },
    ...more,
  };
  const application = {
    id: 'app_1srOrx2ZWZBpBUvZwXKQmoEYga2',
    uid: 'acct_17',
    name: 'Acme',
    throttleRate: null,
    metadata: { plan: 'gold' },
    createdAt: at,
    updatedAt: at,
    endpoints: { data: [endpoint], done: true, iterator: null },
  };
  const eventType = {
    name: 'order.created',
    description: 'An order was placed',
    archived: false,
    deprecated: false,
    schemas: { '1': { type: 'object', properties: { orderId: { type: 'integer' } }, required: ['orderId'] } },
    groupName: 'Orders',
    featureFlags: null,
    createdAt: at,
    updatedAt: at,
  };
  return { applications: [application], eventTypes: [eventType] };
}

export const SVIX_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';

/** A tenant of Outpost with one destination. `more` replaces members of the destination. */
export function outpostExport(more: Readonly<Record<string, unknown>> = {}) {
  const at = '2026-08-21T20:24:36Z';
  const destination = {
    id: 'des_webhook_123',
    type: 'webhook',
    topics: ['order.created'],
    filter: null,
    disabled_at: null,
    created_at: at,
    updated_at: at,
    config: { url: 'https://hooks.example.com/outpost' },
    credentials: { secret: OUTPOST_SECRET },
    delivery_metadata: null,
    metadata: null,
    ...more,
  };
  const tenant = {
    id: 'acct_18',
    destinations_count: 1,
    topics: ['order.created'],
    metadata: { name: 'Bolt Hardware' },
    created_at: at,
    updated_at: at,
    destinations: [destination],
  };
  return {
    tenants: { models: [tenant], pagination: { next: null, prev: null, limit: 100 }, count: 1 },
    topics: ['order.created'],
  };
}

export const OUTPOST_SECRET = `whsec_${'0123456789abcdef'.repeat(4)}`;

/** The document with one member, anywhere in it, replaced by any JSON, or any JSON. */
export function documentsLike(document: object): fc.Arbitrary<unknown> {
  const places = placesOf(document);
  return fc.oneof(
    fc.jsonValue(),
    fc.tuple(fc.constantFrom(...places), fc.jsonValue()).map(([place, value]) => replaced(document, place, value)),
  );
}

function placesOf(value: unknown): (readonly string[])[] {
  if (value === null || typeof value !== 'object') return [[]];
  return [[], ...Object.entries(value).flatMap(([name, member]) => placesOf(member).map((place) => [name, ...place]))];
}

function replaced(target: unknown, [name, ...place]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  const member = replaced((target as Record<string, unknown>)[name], place, value);
  return Array.isArray(target) ? target.with(Number(name), member) : { ...(target as object), [name]: member };
}
