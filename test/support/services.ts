/** The use cases on a real store, and helpers that create the records a test needs. */
import type { TestContext } from 'node:test';
import type { WithSecret } from '../../src/access/applications.ts';
import { type Caller, createGate, type Gate } from '../../src/access/gate.ts';
import { createFormatOf, type FormatOf } from '../../src/delivery/format.ts';
import type { Acting } from '../../src/domain/acting.ts';
import type { Endpoint } from '../../src/domain/endpoint.ts';
import type { User } from '../../src/domain/user.ts';
import type { PgpKey, Webhook } from '../../src/domain/webhook.ts';
import { createErasures } from '../../src/events/erase.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { createLog } from '../../src/observe/log.ts';
import type { EgressPolicy } from '../../src/outbound/egress.ts';
import { createServices, type Services } from '../../src/services/services.ts';
import { readingServices, type UntypedServices } from './reading-services.ts';
import { openTestStore, type TestStore, type TestStoreOptions } from './store.ts';
import { egressOf, LOOPBACK, loopbackTransport } from './transport.ts';
import { type PgpVectorName, pgpVector } from './vectors.ts';

/** The named actor with every permission. */
export function actingAs(actor: string): Acting {
  return { actor, authority: 'unlimited' };
}

export const ACTOR: Acting = actingAs('application:test');

/** The address of the service. */
export const TEST_URL = 'https://edge.example';

export type TestServices = TestStore &
  UntypedServices & {
    readonly gate: Gate;
    readonly formatOf: FormatOf;
    /** The number of times the dispatcher was woken. */
    wakes(): number;
  };

export type TestServiceOptions = TestStoreOptions & {
  readonly egress?: EgressPolicy;
  /** Additional authorities that the transport trusts, in PEM. */
  readonly caPem?: string;
};

export async function openTestServices(t: TestContext, options: TestServiceOptions = {}): Promise<TestServices> {
  const { egress = LOOPBACK, caPem = null } = options;
  const testStore = await openTestStore(t, options);
  let wakes = 0;
  const formatOf = createFormatOf({ ...testStore, publicUrl: () => TEST_URL });
  const log = createLog('silent');
  const services = readingServices(
    createServices({
      ...testStore,
      random: randomBytes,
      egress: egressOf(egress),
      transport: loopbackTransport(t, { egress, caPem }),
      log,
      wake: () => {
        wakes += 1;
      },
      erasures: createErasures({ ...testStore, log }),
      formatOf,
      publicUrl: () => TEST_URL,
    }),
  );
  await services.products.refresh();
  const gate = createGate({ ...testStore, catalogue: services.products.compiled });
  return { ...testStore, ...services, gate, formatOf, wakes: () => wakes };
}

type Fields = Readonly<Record<string, unknown>>;

let made = 0;
function unique(what: string): string {
  made += 1;
  return `${what}-${made}`;
}

export function makeUser({ users }: UntypedServices, more: Fields = {}): Promise<User> {
  return users.create({ userName: unique('user'), ...more }, ACTOR);
}

/** Creates an application. By default it has one scope, because tokens need one, and its own user. */
export async function makeApplication(services: UntypedServices, more: Fields = {}): Promise<WithSecret> {
  const userId = more.userId ?? (await makeUser(services)).id;
  return services.applications.create(
    { name: unique('application'), scopes: ['employees:view'], ...more, userId },
    ACTOR,
  );
}

/** Creates a caller whose token has all the scopes and whose user has permissions of the same names. */
export async function makeCaller(
  services: TestServices,
  scopes: readonly string[],
  user: Fields = {},
): Promise<Caller> {
  const { id } = await makeUser(services, { permissions: scopes, ...user });
  const { application, clientSecret } = await makeApplication(services, { userId: id, scopes });
  return services.gate.authenticate([`Bearer ${await tokenOf(services, application.clientId, clientSecret)}`]);
}

/** Issues an access token with every scope of the application. */
export async function tokenOf(
  { tokens }: Pick<Services, 'tokens'>,
  clientId: string,
  clientSecret: string,
): Promise<string> {
  const client = await tokens.authenticate({ clientId, clientSecret });
  return (await tokens.issue(client, undefined)).accessToken;
}

/** Creates an enabled endpoint without token challenge, so nothing is sent to it. */
export function makeEndpoint({ endpoints }: UntypedServices, more: Fields = {}): Promise<Endpoint> {
  return endpoints.create({ name: unique('endpoint'), url: 'https://receiver.example/hook', ...more }, ACTOR);
}

export function makeKey({ keys }: UntypedServices, vector: PgpVectorName = 'curve25519'): Promise<PgpKey> {
  return keys.create({ name: unique('key'), publicKey: pgpVector(vector) }, ACTOR);
}

/** Creates a webhook at a new endpoint, unless `endpointId` is given. With `key` its records are encrypted. */
export async function makeWebhook(
  services: UntypedServices,
  eventTypes: readonly string[],
  { key, ...more }: Fields & { readonly key?: boolean } = {},
): Promise<PushWebhook> {
  const endpointId = more.endpointId ?? (await makeEndpoint(services)).id;
  const encryptionKeyName = key === true ? (await makeKey(services)).name : null;
  const body = { name: unique('webhook'), eventTypes, encryptionKeyName, ...more, endpointId };
  return (await services.webhooks.create(body, ACTOR)) as PushWebhook;
}

export type PushWebhook = Webhook & { readonly endpointId: string };

/** Creates an event type that any application may publish. */
export async function makeEventType({ eventTypes }: UntypedServices, name: string, more: Fields = {}): Promise<void> {
  await eventTypes.create({ name, ...more }, ACTOR);
}
