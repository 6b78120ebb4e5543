/** A service and a receiver that trust each other, and short functions for calls of the API. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ApplicationView } from '../../src/access/applications.ts';
import type { UserView } from '../../src/access/users.ts';
import type { AcceptedView } from '../../src/events/publish.ts';
import type { AttemptView, DeliveryView } from '../../src/webhooks/deliveries.ts';
import type { EndpointView } from '../../src/webhooks/endpoint-schema.ts';
import type { KeyView } from '../../src/webhooks/keys.ts';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { type ApiClient, type Credentials, createClient, type Page, succeeded, tokenFor } from './client.ts';
import { type EndpointOptions, type Receiver, type ReceivingEndpoint, startReceiver } from './receiver.ts';
import { type ServiceInProcess, type ServiceOptions, startService } from './service.ts';
import { sharedCertificates } from './tls.ts';

export type Journey = { readonly service: ServiceInProcess; readonly admin: ApiClient; readonly receiver: Receiver };

type Fields = Readonly<Record<string, unknown>>;
export type DeliveryDetail = DeliveryView & { readonly attempts: readonly AttemptView[] };

export async function startJourney(t: TestContext, options: ServiceOptions = {}): Promise<Journey> {
  const { ca, server } = sharedCertificates();
  const service = await startService(t, { ca, ...options });
  const receiver = await startReceiver(t, server, { clock: service.clock });
  return { service, admin: service.admin, receiver };
}

/** Creates a service account, an application that acts as it, and a client with a token of the application. */
export async function registerApplication(
  admin: ApiClient,
  scopes: readonly string[],
  { user = {}, application = {} }: { readonly user?: Fields; readonly application?: Fields } = {},
): Promise<{ user: UserView; application: ApplicationView; credentials: Credentials; token: string; api: ApiClient }> {
  const account = await succeeded<UserView>(
    admin.post('users', { userName: unique('service'), permissions: scopes, ...user }),
  );
  const made = await succeeded<ApplicationView & Credentials>(
    admin.post('applications', { name: unique('application'), userId: account.id, scopes, ...application }),
  );
  const credentials = { clientId: made.clientId, clientSecret: made.clientSecret };
  const token = await tokenFor(admin.url, credentials);
  return { user: account, application: made, credentials, token, api: createClient(admin.url, token) };
}

/** Creates an endpoint in the service for the receiver's endpoint. */
export function makeEndpoint(
  admin: ApiClient,
  { url, secret, apiKey }: Pick<ReceivingEndpoint, 'url' | 'secret' | 'apiKey'>,
  more: Fields = {},
): Promise<EndpointView & { readonly secret: string }> {
  return succeeded(admin.post('endpoints', { name: unique('endpoint'), url, secret, apiKey, ...more }));
}

export function importKey(admin: ApiClient, name: string, publicKey: string): Promise<KeyView> {
  return succeeded(admin.post('keys', { name, publicKey }));
}

/** Creates a webhook. By default it sends no heartbeats, so that only the test's own events arrive. */
export function makeWebhook(
  admin: ApiClient,
  endpoint: Pick<EndpointView, 'id'>,
  eventTypes: readonly string[],
  more: Fields = {},
): Promise<WebhookView> {
  const name = unique('webhook');
  return succeeded(admin.post('webhooks', { name, endpointId: endpoint.id, eventTypes, heartbeatSeconds: 0, ...more }));
}

export function startWebhook(admin: ApiClient, { id }: Pick<WebhookView, 'id'>): Promise<WebhookView> {
  return succeeded(admin.post(`webhooks/${id}/start`));
}

export function stopWebhook(admin: ApiClient, { id }: Pick<WebhookView, 'id'>): Promise<WebhookView> {
  return succeeded(admin.post(`webhooks/${id}/stop`));
}

export function readWebhook(admin: ApiClient, { id }: Pick<WebhookView, 'id'>): Promise<WebhookView> {
  return succeeded(admin.get(`webhooks/${id}`));
}

/** Creates an endpoint at the receiver with a started webhook for these event types. */
export async function connect(
  { admin, receiver }: Pick<Journey, 'admin' | 'receiver'>,
  eventTypes: readonly string[],
  {
    receiving = {},
    endpoint = {},
    webhook = {},
  }: { readonly receiving?: EndpointOptions; readonly endpoint?: Fields; readonly webhook?: Fields } = {},
): Promise<{ at: ReceivingEndpoint; endpoint: EndpointView; webhook: WebhookView }> {
  const at = receiver.endpoint(`/${unique('hook')}`, receiving);
  const made = await makeEndpoint(admin, at, endpoint);
  const subscribed = await makeWebhook(admin, made, eventTypes, webhook);
  return { at, endpoint: made, webhook: await startWebhook(admin, subscribed) };
}

/** Creates an event type that does not require encryption. */
export async function makeEventType(admin: ApiClient, name: string): Promise<void> {
  await succeeded(admin.post('event-types', { name }));
}

/** Publishes events of one type and returns their ids. */
export async function publish(admin: ApiClient, type: string, ...all: readonly Fields[]): Promise<string[]> {
  const events = all.map((data) => ({ type, data }));
  const accepted = await succeeded<AcceptedView>(admin.post('events', { events }));
  assert.equal(accepted.accepted, events.length);
  return accepted.events.map(({ id }) => id);
}

/** Returns a webhook's deliveries, ordered by offset. */
export async function deliveriesOf(admin: ApiClient, { id }: Pick<WebhookView, 'id'>): Promise<DeliveryView[]> {
  const all: DeliveryView[] = [];
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page: Page<DeliveryView> = await succeeded(admin.get(`deliveries?webhookId=${id}&limit=200${after}`));
    all.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return all.reverse();
}

/** Returns the delivery of this event with its attempts. */
export async function deliveryOf(
  admin: ApiClient,
  webhook: Pick<WebhookView, 'id'>,
  eventId: string,
): Promise<DeliveryDetail> {
  const found = (await deliveriesOf(admin, webhook)).find((delivery) => delivery.eventId === eventId);
  assert.ok(found, `event ${eventId} has no delivery of the webhook`);
  return succeeded(admin.get(`deliveries/${found.id}`));
}

let made = 0;

export function unique(what: string): string {
  made += 1;
  return `${what}-${made}`;
}

/** Returns the only item of a list. Fails if there are more or none. */
export function only<T>(items: readonly T[]): T {
  const [item] = items;
  assert.ok(item !== undefined && items.length === 1, `wanted one item: ${JSON.stringify(items)}`);
  return item;
}
