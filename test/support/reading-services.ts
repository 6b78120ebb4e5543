/** The use cases as a test calls them: with input that they read first, as the interfaces do. */

import {
  type Applications,
  applicationReader,
  regenerateInput,
  type WithSecret,
} from '../../src/access/applications.ts';
import type { Caller } from '../../src/access/gate.ts';
import { type Products, productReader } from '../../src/access/products.ts';
import { type Users, userReader } from '../../src/access/users.ts';
import { type Customers, customerReader } from '../../src/customers/customers.ts';
import { type PortalLinks, portalLinkInput } from '../../src/customers/portal-links.ts';
import { type RecordsBody, recordsInput } from '../../src/delivery/reads/records.ts';
import type { Acting, IfMatch } from '../../src/domain/acting.ts';
import type { Application } from '../../src/domain/application.ts';
import type { ApiProduct } from '../../src/domain/catalogue.ts';
import type { Customer } from '../../src/domain/customer.ts';
import type { Employee } from '../../src/domain/employee.ts';
import type { Endpoint } from '../../src/domain/endpoint.ts';
import type { EventType } from '../../src/domain/event.ts';
import type { User } from '../../src/domain/user.ts';
import type { PgpKey, Webhook } from '../../src/domain/webhook.ts';
import { type Employees, employeeReader } from '../../src/employees/employees.ts';
import { type Erasures, eraseInput } from '../../src/events/erase.ts';
import { readEvents } from '../../src/events/event-input.ts';
import { type EventTypes, eventTypeReader } from '../../src/events/event-types.ts';
import { eventsText, type Publish } from '../../src/events/publish.ts';
import { validate } from '../../src/kernel/validation.ts';
import type { Administration } from '../../src/resources/administration.ts';
import type { InputReader } from '../../src/resources/input.ts';
import type { Services } from '../../src/services/services.ts';
import type { Beside } from '../../src/store/port/resource.ts';
import { type Acknowledge, acknowledgeInput } from '../../src/webhooks/acknowledge.ts';
import type { Deliveries } from '../../src/webhooks/deliveries.ts';
import {
  endpointReader,
  rotateApiKeyInput,
  rotateAuthenticationInput,
  rotateInput,
} from '../../src/webhooks/endpoint-schema.ts';
import type { Endpoints, WithNewSecret } from '../../src/webhooks/endpoints.ts';
import { type Keys, keyReader } from '../../src/webhooks/keys.ts';
import { filterPreviewInput, replayInput, webhookReader } from '../../src/webhooks/webhook-schema.ts';
import type { Webhooks } from '../../src/webhooks/webhooks.ts';

/** The use cases, given what a caller sends. */
export type UntypedServices = Omit<Services, keyof Reading> & Reading;

type Reading = {
  readonly customers: ReadingResource<Customers, Customer>;
  readonly portalLinks: {
    create(customer: string, body: unknown, acting: Acting): ReturnType<PortalLinks['create']>;
  };
  readonly users: ReadingResource<Users, User>;
  readonly products: ReadingResource<Products, ApiProduct>;
  readonly applications: Pick<Applications, 'get' | 'list' | 'shown' | 'change' | 'remove' | 'revokeTokens'> & {
    create(
      body: unknown,
      acting: Acting,
      more?: { readonly beside?: Beside<WithSecret> | undefined },
    ): Promise<WithSecret>;
    patch(id: string, patch: unknown, acting: Acting): Promise<Application>;
    regenerateSecret(id: string, body: unknown, acting: Acting, beside?: Beside<WithSecret>): Promise<WithSecret>;
  };
  readonly employees: Omit<Employees, 'create'> & {
    create(body: unknown, caller: Caller, beside?: Beside<Employee>): Promise<Employee>;
    replace(userId: string, body: unknown, caller: Caller, ifMatch?: IfMatch): Promise<Employee>;
    patch(userId: string, patch: unknown, caller: Caller, ifMatch?: IfMatch): Promise<Employee>;
  };
  readonly eventTypes: ReadingResource<EventTypes, EventType>;
  readonly endpoints: ReadingResource<
    Omit<Endpoints, 'rotateSecret' | 'rotateApiKey' | 'rotateAuthentication'>,
    Endpoint
  > & {
    rotateSecret(id: string, body: unknown, acting: Acting, beside?: Beside<WithNewSecret>): Promise<WithNewSecret>;
    rotateApiKey(id: string, body: unknown, acting: Acting, beside?: Beside<Endpoint>): Promise<Endpoint>;
    rotateAuthentication(id: string, body: unknown, acting: Acting): Promise<Endpoint>;
  };
  readonly keys: ReadingResource<Keys, PgpKey>;
  readonly webhooks: ReadingResource<Omit<Webhooks, 'replay' | 'previewFilter' | 'acknowledge'>, Webhook> & {
    previewFilter(id: string, body: unknown): ReturnType<Webhooks['previewFilter']>;
    replay(id: string, body: unknown, acting: Acting): ReturnType<Webhooks['replay']>;
    acknowledge(id: string, body: unknown): ReturnType<Acknowledge>;
  };
  readonly deliveries: Omit<Deliveries, 'countReplay'> & {
    countReplay(webhookId: string, body: unknown): Promise<number>;
  };
  readonly erasures: Pick<Erasures, 'get'> & {
    erase(body: unknown, acting: Acting): ReturnType<Erasures['erase']>;
  };
  readRecords(webhookId: string, query?: unknown, signal?: AbortSignal): Promise<RecordsBody>;
  readEvent(eventId: string, webhookId?: string | null): Promise<RecordsBody>;
  publish(body: unknown, acting: Acting): ReturnType<Publish>;
};

/** The use cases of a resource whose `create` and `patch` read their input. */
type ReadingResource<Use, Rec> = Omit<Use, keyof Administration<Rec>> & Administration<Rec, unknown, unknown>;

/** Reads the input before each use case takes it. Throws the refusals that the other doors throw. */
export function readingServices(services: Services): UntypedServices {
  const {
    customers,
    portalLinks,
    users,
    products,
    applications,
    employees,
    eventTypes,
    endpoints,
    keys,
    webhooks,
    deliveries,
    erasures,
  } = services;
  return {
    ...services,
    customers: reading(customers, customerReader),
    portalLinks: {
      create: async (customer, body, acting) => portalLinks.create(customer, validate(portalLinkInput, body), acting),
    },
    users: reading(users, userReader),
    products: { ...products, ...reading(products, productReader) },
    applications: {
      ...applications,
      create: async (body, acting, more) => applications.create(applicationReader.create(body), acting, more),
      patch: async (id, patch, acting) => applications.patch(id, applicationReader.patch(patch), acting),
      regenerateSecret: async (id, body, acting, beside) =>
        applications.regenerateSecret(id, validate(regenerateInput, body), acting, beside),
    },
    employees: {
      ...employees,
      create: async (body, caller, beside) => employees.create(employeeReader.create(body), caller, beside),
      replace: async (userId, body, caller, ifMatch) =>
        employees.change(userId, () => employeeReader.create(body), caller, ifMatch),
      patch: async (userId, patch, caller, ifMatch) =>
        employees.change(
          userId,
          (before) => employeeReader.apply(before, employeeReader.patch(patch)),
          caller,
          ifMatch,
        ),
    },
    eventTypes: { ...eventTypes, ...reading(eventTypes, eventTypeReader) },
    endpoints: {
      ...endpoints,
      ...reading(endpoints, endpointReader),
      rotateSecret: async (id, body, acting, beside) =>
        endpoints.rotateSecret(id, validate(rotateInput, body), acting, beside),
      rotateApiKey: async (id, body, acting, beside) =>
        endpoints.rotateApiKey(id, validate(rotateApiKeyInput, body), acting, beside),
      rotateAuthentication: async (id, body, acting) =>
        endpoints.rotateAuthentication(id, validate(rotateAuthenticationInput, body), acting),
    },
    keys: reading(keys, keyReader),
    webhooks: {
      ...webhooks,
      ...reading(webhooks, webhookReader),
      previewFilter: async (id, body) => webhooks.previewFilter(id, validate(filterPreviewInput, body)),
      replay: async (id, body, acting) => webhooks.replay(id, validate(replayInput, body), acting),
      acknowledge: async (id, body) => webhooks.acknowledge(id, validate(acknowledgeInput, body)),
    },
    deliveries: {
      ...deliveries,
      countReplay: async (id, body) => deliveries.countReplay(id, validate(replayInput, body)),
    },
    erasures: {
      get: erasures.get,
      erase: async (body, acting) => erasures.erase(validate(eraseInput, body), acting),
    },
    readRecords: async (webhookId, query = {}, signal = NEVER_ENDED) => {
      const { wait, ...place } = validate(recordsInput, query);
      return services.readRecords(webhookId, { ...place, waitMs: wait * 1000, signal });
    },
    readEvent: async (eventId, webhookId = null) => services.readEvent(eventId, webhookId),
    publish: async (body, acting) => services.publish(readEvents(eventsText(body)), acting),
  };
}

const NEVER_ENDED: AbortSignal = new AbortController().signal;

function reading<Rec, Body, Input>(
  use: Administration<Rec, Body, Input>,
  reader: InputReader<Body, Input>,
): Administration<Rec, unknown, unknown> {
  return {
    get: use.get,
    list: use.list,
    shown: use.shown,
    change: use.change,
    remove: use.remove,
    create: async (body, acting, more) => use.create(reader.create(body), acting, more),
    patch: async (id, patch, acting) => use.patch(id, reader.patch(patch), acting),
  };
}
