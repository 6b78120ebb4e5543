/** Customers with resources of every kind, for tests of what one can see of another (contract §8.3). */
import { CUSTOMER_SCOPES } from '../../src/access/built-in.ts';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { NO_RECEIVER } from './api-seed.ts';
import { type ApiClient, createClient, type Page, succeeded, tokenFor } from './client.ts';
import { unique } from './journey.ts';
import { request } from './portal-requests.ts';
import type { ServiceInProcess } from './service.ts';
import { pgpVector } from './vectors.ts';

type Fields = Readonly<Record<string, unknown>>;
type Made = { readonly id: string };

/** A customer with a user and an application that hold everything that customers can. */
export type TestCustomer = {
  readonly id: string;
  readonly externalId: string;
  readonly userId: string;
  readonly userName: string;
  readonly applicationId: string;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
  readonly token: string;
  /** A client with the token of the application. */
  readonly api: ApiClient;
};

export async function makeCustomer(
  { admin, url }: Pick<ServiceInProcess, 'admin' | 'url'>,
  name = unique('customer'),
): Promise<TestCustomer> {
  const externalId = unique('external');
  const { id } = await created(admin, 'customers', { name, externalId });
  const userName = unique('administrator');
  const user = { customerId: id, userName, role: 'administrator', permissions: CUSTOMER_SCOPES };
  const { id: userId } = await created(admin, 'users', user);
  const application = { customerId: id, name: unique('application'), userId, scopes: CUSTOMER_SCOPES };
  const made = await created<Made & TestCustomer['credentials']>(admin, 'applications', application);
  const credentials = { clientId: made.clientId, clientSecret: made.clientSecret };
  const token = await tokenFor(url, credentials);
  return {
    id,
    externalId,
    userId,
    userName,
    applicationId: made.id,
    credentials,
    token,
    api: createClient(url, token),
  };
}

/** The token in the cookie of a session in the customer's portal: of its user, or of a portal link. */
export async function sessionOf(
  { admin, services }: Pick<ServiceInProcess, 'admin' | 'services'>,
  { id, userId }: Pick<TestCustomer, 'id' | 'userId'>,
  by: 'user' | 'link',
  role: 'administrator' | 'viewer' = 'administrator',
): Promise<string> {
  const visitor = { address: '127.0.0.1', userAgent: 'a test' };
  if (by === 'user') {
    const begun = await services.sessions.begin(await services.users.get(userId), 'password', visitor);
    if (begun === null) throw new Error('the session was not created');
    return begun.token;
  }
  const { url } = await created<{ url: string }>(admin, `customers/${id}/portal-links`, { role });
  return openLink(url);
}

/** Opens a portal link, and returns the token in the cookie of its session. */
export async function openLink(url: string): Promise<string> {
  const { status, headers } = await request(url);
  const cookies = headers.get('set-cookie') ?? '';
  const token = new RegExp(`${SESSION_COOKIE}=([\\w-]{43})`).exec(cookies)?.[1];
  if (status !== 303 || token === undefined) throw new Error(`the link was not opened: ${status} ${cookies}`);
  return token;
}

/** The resources of an owner: an id of each kind of resource, by the segment of its path, and texts by which it could be found. */
export type Belongings = {
  readonly ids: Readonly<Record<string, string>>;
  readonly names: Readonly<Record<string, string>>;
};

/** An event type of the seeded webhooks. */
export const ORDERS = 'order.placed';

/** Makes one of everything, and lets a delivery die. `api` acts for the customer, or for the operator with `customer` null. */
export async function seedBelongings(
  { admin, log, services }: Pick<ServiceInProcess, 'admin' | 'log' | 'services'>,
  customer: TestCustomer | null,
): Promise<Belongings> {
  const api = customer?.api ?? admin;
  const names = Object.fromEntries(
    ['user', 'application', 'endpoint', 'key', 'webhook', 'subject', 'correlation', 'orderingKey'].map((kind) => [
      kind,
      `${unique(kind)}x`,
    ]),
  ) as Readonly<Record<string, string>>;
  const user = await created(api, 'users', { userName: names.user, role: 'viewer', displayName: unique('person') });
  const application = await created<Made & { clientId: string }>(api, 'applications', {
    name: names.application,
    userId: user.id,
  });
  const url = `${NO_RECEIVER}/${unique('hook')}`;
  const endpoint = await created(api, 'endpoints', { name: names.endpoint, url });
  const key = await created(api, 'keys', { name: names.key, publicKey: pgpVector('curve25519') });
  const webhook = await created(api, 'webhooks', {
    name: names.webhook,
    endpointId: endpoint.id,
    eventTypes: [ORDERS],
    heartbeatSeconds: 0,
    retry: { policy: 'linear', maxAttempts: 1 },
  });
  await succeeded(api.post(`webhooks/${webhook.id}/start`));
  const { subject, orderingKey } = names;
  await succeeded(api.post('events', { type: ORDERS, data: { text: unique('data') }, subject, orderingKey }));
  const { batchId, attemptId } = (await log.nextAttempt(webhook.id)) as { batchId?: string; attemptId?: string };
  const deliveries = await succeeded<Page<Made & { eventId: string }>>(api.get(`deliveries?webhookId=${webhook.id}`));
  const [delivery] = deliveries.items;
  if (delivery === undefined) throw new Error('nothing was delivered');
  const detail = await succeeded<{ attempts: { id: string; batchId: string | null }[] }>(
    api.get(`deliveries/${delivery.id}`),
  );
  const entries = await succeeded<Page<Made>>(api.get('audit?limit=1'));
  const { token } = await services.invitations.invite(user.id, COMMAND_LINE);
  return {
    ids: {
      users: user.id,
      applications: application.id,
      endpoints: endpoint.id,
      keys: key.id,
      webhooks: webhook.id,
      deliveries: delivery.id,
      audit: entries.items[0]?.id ?? '',
      events: delivery.eventId,
      attempts: detail.attempts[0]?.id ?? attemptId ?? '',
      batches: detail.attempts[0]?.batchId ?? batchId ?? '',
      ...(customer === null ? {} : { customers: customer.id }),
    },
    names: { ...names, url, clientId: application.clientId, invitation: token },
  };
}

/** An id that nothing has, and that is sorted, dated and shaped as this one. */
export function unknownLike(id: string): string {
  if (!/[0-9a-f]$/.test(id)) return `${id.slice(0, -1)}${id.endsWith('z') ? 'y' : 'z'}`;
  const last = id.at(-1) === 'f' ? '0' : (Number.parseInt(id.at(-1) ?? '0', 16) + 1).toString(16);
  return id.slice(0, -1) + last;
}

export function created<T = Made>(api: ApiClient, path: string, body: Fields): Promise<T> {
  return succeeded(api.post(path, body));
}
