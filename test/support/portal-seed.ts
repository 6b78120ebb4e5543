/** Creates resources of every kind, for tests and screenshots of all portal pages. */
import { type ApiClient, succeeded } from './client.ts';
import type { PlannedAnswer } from './https-server.ts';
import { connect, importKey, type Journey, makeEndpoint, makeWebhook, publish, startWebhook } from './journey.ts';
import { pgpVector } from './vectors.ts';

/** The names of the resources, and the responses of receivers. Resources that share a name get a number as suffix. */
export type Words = {
  readonly userName: string;
  readonly displayName: string;
  readonly product: string;
  readonly description: string;
  readonly application: string;
  readonly endpoints: readonly [good: string, failing: string, unverified: string];
  readonly webhooks: readonly [good: string, failing: string, idle: string];
  readonly eventTypes: readonly string[];
  readonly keys: readonly string[];
  /** The data of an event. */
  data(number: number): Readonly<Record<string, unknown>>;
  readonly subject: string;
  /** The response of the failing receiver. */
  readonly failure: PlannedAnswer;
};

/** The id of a resource of each kind, keyed by the path of its list. Pages with `{id}` in their path use it. */
export type SeededIds = Readonly<Record<string, string>>;
export type Seeded = {
  readonly ids: SeededIds;
  /** The webhook whose deliveries all succeed. */
  readonly runningWebhook: string;
};

export async function seedPortal(journey: Journey, words: Words): Promise<Seeded> {
  const { service, admin, receiver } = journey;
  const { id: user } = await created(admin, 'users', {
    userName: words.userName,
    displayName: words.displayName,
    role: 'operator',
    email: 'grace@example.com',
    permissions: ['orders:view', 'employees:view'],
    constraints: { divisions: [words.description.slice(0, 100)] },
  });
  const { id: product } = await created(admin, 'products', {
    name: words.product,
    scopes: [
      { name: 'orders:view', description: words.description },
      { name: 'orders:manage', description: words.description },
    ],
    rules: [
      { methods: ['GET'], path: '/shop/orders/{orderId}', scope: 'orders:view' },
      { methods: ['POST', 'PATCH'], path: '/shop/orders', scope: 'orders:manage' },
    ],
  });
  const { id: application } = await created(admin, 'applications', {
    name: words.application,
    userId: user,
    scopes: ['orders:view', 'employees:view'],
  });
  const types: string[] = [];
  for (const name of words.eventTypes) {
    types.push((await created(admin, 'event-types', { name, description: words.description })).id);
  }
  const keys: string[] = [];
  for (const [at, name] of words.keys.entries()) {
    keys.push((await importKey(admin, name, pgpVector(at === 0 ? 'curve25519' : 'rsa4096'))).id);
  }

  const [type = ''] = words.eventTypes;
  const good = await connect(journey, ['*'].slice(1).concat(words.eventTypes), {
    endpoint: { name: words.endpoints[0], contentEncoding: 'gzip' },
    webhook: { name: words.webhooks[0], customHeaders: [{ name: 'x-tenant', value: 'acme' }], maxBatchRecords: 1 },
  });
  const failing = await connect(journey, [type], {
    endpoint: { name: words.endpoints[1] },
    webhook: { name: words.webhooks[1], maxBatchRecords: 1, retry: { policy: 'linear', maxAttempts: 1 } },
  });
  failing.at.answer(() => words.failure);
  const unproved = receiver.endpoint('/unproved');
  unproved.answerChallenge(words.failure);
  const silent = await makeEndpoint(admin, unproved, { name: words.endpoints[2], tokenChallenge: true });
  await makeWebhook(admin, silent, [type], { name: words.webhooks[2] });
  const secured = await makeWebhook(admin, good.endpoint, ['employee.*'], {
    name: `${words.webhooks[0]} 2`,
    encryptionKeyName: words.keys[0],
  });
  await startWebhook(admin, secured);

  for (let at = 0; at < EVENTS; at += 1) await publish(admin, type, { ...words.data(at) });
  await admin.post('events', {
    type,
    data: words.data(EVENTS),
    subject: words.subject,
    actorId: words.subject.slice(0, 100),
  });
  for (let at = 0; at <= EVENTS; at += 1) await service.log.nextAttempt(good.webhook.id);
  // This webhook makes only one attempt.
  await service.log.nextAttempt(failing.webhook.id);
  const { items } = await succeeded<{ items: { id: string }[] }>(
    admin.get(`deliveries?webhookId=${failing.webhook.id}&state=dead&limit=1`),
  );
  const ids = {
    '/users': user,
    '/products': product,
    '/applications': application,
    '/event-types': types[0] ?? '',
    '/keys': keys[0] ?? '',
    '/endpoints': failing.endpoint.id,
    '/webhooks': failing.webhook.id,
    '/deliveries': items[0]?.id ?? '',
  };
  return { ids, runningWebhook: good.webhook.id };
}

const EVENTS = 12;

/** Replaces `{id}` in a page's path with a seeded id. Null if there is none for the page. */
export function seededPath(path: string, seeded: SeededIds): string | null {
  if (!path.includes('{')) return path;
  const [list = ''] = /^\/[^/]+/.exec(path) ?? [];
  const id = seeded[list];
  return id === undefined || path.replace('{id}', '').includes('{') ? null : path.replace('{id}', id);
}

function created(admin: ApiClient, path: string, body: unknown): Promise<{ readonly id: string }> {
  return succeeded(admin.post(path, body));
}
