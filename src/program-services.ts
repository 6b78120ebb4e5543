/**
 * The use cases as an embedding program calls them. The compiler checks what it passes. A program in plain JavaScript has no compiler,
 * so the input is read here as at the other doors.
 */

import {
  type ApplicationBody,
  type Applications,
  applicationReader,
  regenerateInput,
  type WithSecret,
} from './access/applications.ts';
import type { Caller } from './access/gate.ts';
import { type ProductBody, type Products, productReader } from './access/products.ts';
import { type UserBody, type Users, userReader } from './access/users.ts';
import { type CustomerBody, type Customers, customerReader } from './customers/customers.ts';
import { type PortalLinks, portalLinkInput } from './customers/portal-links.ts';
import { type RecordsBody, recordsInput } from './delivery/records.ts';
import type { Acting, IfMatch } from './domain/acting.ts';
import type { Application } from './domain/application.ts';
import type { ApiProduct } from './domain/catalogue.ts';
import type { Customer } from './domain/customer.ts';
import type { Employee } from './domain/employee.ts';
import type { Endpoint } from './domain/endpoint.ts';
import type { EventType } from './domain/event.ts';
import type { User } from './domain/user.ts';
import type { PgpKey, Webhook } from './domain/webhook.ts';
import { type EmployeeBody, type Employees, employeeReader } from './employees/employees.ts';
import { type Erasures, eraseInput } from './events/erase.ts';
import { readEvents } from './events/event-input.ts';
import { type EventTypeBody, type EventTypes, eventTypeReader } from './events/event-types.ts';
import { eventsText, type Publish, type PublishInput } from './events/publish.ts';
import { refuseField } from './kernel/refusal.ts';
import { isObject, textProblem, validate } from './kernel/validation.ts';
import type { Administration } from './resources/administration.ts';
import type { BodyOf, InputReader, MergePatch } from './resources/input.ts';
import type { Services } from './services/services.ts';
import type { Beside } from './store/port/resource.ts';
import { type Acknowledge, acknowledgeInput } from './webhooks/acknowledge.ts';
import type { Deliveries } from './webhooks/deliveries.ts';
import { type EndpointBody, endpointReader, rotateApiKeyInput, rotateInput } from './webhooks/endpoint-schema.ts';
import type { Endpoints, WithNewSecret } from './webhooks/endpoints.ts';
import { type KeyBody, type Keys, keyReader } from './webhooks/keys.ts';
import { filterPreviewInput, replayInput, type WebhookBody, webhookReader } from './webhooks/webhook-schema.ts';
import type { Webhooks } from './webhooks/webhooks.ts';

/** What each use case takes before it is read: fields with a default may be left out. */
type Bodies = {
  readonly customer: CustomerBody;
  readonly portalLink: BodyOf<typeof portalLinkInput>;
  readonly user: UserBody;
  readonly product: ProductBody;
  readonly application: ApplicationBody;
  readonly regenerate: BodyOf<typeof regenerateInput>;
  readonly employee: EmployeeBody;
  readonly eventType: EventTypeBody;
  readonly endpoint: EndpointBody;
  readonly rotateSecret: BodyOf<typeof rotateInput>;
  readonly rotateApiKey: BodyOf<typeof rotateApiKeyInput>;
  readonly key: KeyBody;
  readonly webhook: WebhookBody;
  readonly replay: BodyOf<typeof replayInput>;
  readonly records: BodyOf<typeof recordsInput>;
  readonly acknowledge: BodyOf<typeof acknowledgeInput>;
  readonly filterPreview: BodyOf<typeof filterPreviewInput>;
  readonly erase: BodyOf<typeof eraseInput>;
  readonly publish: PublishInput;
};
type Unread = { readonly [Name in keyof Bodies]: unknown };

export type ProgramServices = Taking<Bodies>;

/** The same for callers whose input no compiler has checked. */
export type UntypedServices = Taking<Unread>;

type Taking<Given extends Unread> = Omit<Services, keyof Replaced<Given>> & Replaced<Given>;

type Replaced<Given extends Unread> = {
  readonly customers: Reading<Customers, Customer, Given['customer']>;
  readonly portalLinks: {
    /** `customer`: its id, or `externalId:…`. The link is `<public URL>/portal-links/<token>`. */
    create(customer: string, body: Given['portalLink'], acting: Acting): ReturnType<PortalLinks['create']>;
  };
  readonly users: Reading<Users, User, Given['user']>;
  readonly products: Reading<Products, ApiProduct, Given['product']>;
  readonly applications: Pick<Applications, 'get' | 'list' | 'shown' | 'change' | 'remove' | 'revokeTokens'> & {
    create(
      body: Given['application'],
      acting: Acting,
      more?: { readonly beside?: Beside<WithSecret> | undefined },
    ): Promise<WithSecret>;
    patch(id: string, patch: MergePatch<Given['application']>, acting: Acting): Promise<Application>;
    regenerateSecret(
      id: string,
      body: Given['regenerate'],
      acting: Acting,
      beside?: Beside<WithSecret>,
    ): Promise<WithSecret>;
  };
  readonly employees: Omit<Employees, 'create'> & {
    create(body: Given['employee'], caller: Caller, beside?: Beside<Employee>): Promise<Employee>;
    replace(userId: string, body: Given['employee'], caller: Caller, ifMatch?: IfMatch): Promise<Employee>;
    patch(userId: string, patch: MergePatch<Given['employee']>, caller: Caller, ifMatch?: IfMatch): Promise<Employee>;
  };
  readonly eventTypes: Reading<EventTypes, EventType, Given['eventType']>;
  readonly endpoints: Reading<Omit<Endpoints, 'rotateSecret' | 'rotateApiKey'>, Endpoint, Given['endpoint']> & {
    rotateSecret(
      id: string,
      body: Given['rotateSecret'],
      acting: Acting,
      beside?: Beside<WithNewSecret>,
    ): Promise<WithNewSecret>;
    rotateApiKey(id: string, body: Given['rotateApiKey'], acting: Acting, beside?: Beside<Endpoint>): Promise<Endpoint>;
  };
  readonly keys: Reading<Keys, PgpKey, Given['key']>;
  readonly webhooks: Reading<Omit<Webhooks, 'replay' | 'previewFilter' | 'acknowledge'>, Webhook, Given['webhook']> & {
    previewFilter(id: string, body: Given['filterPreview']): ReturnType<Webhooks['previewFilter']>;
    replay(id: string, body: Given['replay'], acting: Acting): ReturnType<Webhooks['replay']>;
    acknowledge(id: string, body: Given['acknowledge']): ReturnType<Acknowledge>;
  };
  readonly deliveries: Omit<Deliveries, 'countReplay'> & {
    countReplay(webhookId: string, body: Given['replay']): Promise<number>;
  };
  readonly erasures: Pick<Erasures, 'get'> & {
    erase(body: Given['erase'], acting: Acting): ReturnType<Erasures['erase']>;
  };
  /** The records of a webhook as a body with its encoding, as `GET /webhooks/{id}/records` gives them. `signal` ends a wait. */
  readRecords(webhookId: string, query?: Given['records'], signal?: AbortSignal): Promise<RecordsBody>;
  publish(body: Given['publish'], acting: Acting): ReturnType<Publish>;
};

/** The use cases of a resource whose `create` and `patch` take `Body`. */
type Reading<Use, Rec, Body> = Omit<Use, keyof Administration<Rec>> & Administration<Rec, Body, Body>;

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
    publish: async (body, acting) => services.publish(readEvents(eventsText(body)), acting),
  };
}

/**
 * Refuses texts that no field takes among the arguments of all functions, also in nested objects: ids, and the values of filters. The
 * readers refuse them in bodies.
 */
export function refusingUnfitTexts<T extends object>(parts: T): T {
  return new Proxy(parts, {
    get(target, name, receiver) {
      const part: unknown = Reflect.get(target, name, receiver);
      if (typeof part !== 'function')
        return part !== null && typeof part === 'object' ? refusingUnfitTexts(part) : part;
      return (...args: readonly unknown[]): unknown => {
        const texts = args.flatMap((arg): [string, unknown][] => (isObject(arg) ? Object.entries(arg) : [['id', arg]]));
        for (const [field, value] of texts) {
          const problem = typeof value === 'string' ? textProblem(value) : null;
          if (problem !== null) return Promise.reject(refuseField(field, problem));
        }
        return part(...args);
      };
    },
  });
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
