/**
 * Makes the methods of `Program` of the use cases: reads the input, since a program in plain JavaScript has no compiler, and returns views.
 */
import {
  APPLICATION_LIST,
  applicationReader,
  regenerateInput,
  viewApplication,
  type WithSecret,
} from '../access/applications.ts';
import { insufficientPermission } from '../access/gate.ts';
import { type Invitations, invitationUrl } from '../access/invitations.ts';
import { productReader, viewProduct } from '../access/products.ts';
import { USER_LIST, userReader, viewUser } from '../access/users.ts';
import { CUSTOMER_LIST, customerReader, viewCustomer } from '../customers/customers.ts';
import { PORTAL_LINKS_PATH, portalLinkInput } from '../customers/portal-links.ts';
import { portalTokenInput } from '../customers/portal-tokens.ts';
import { readUsagePeriod } from '../customers/usage.ts';
import { readEventInput } from '../delivery/read-event.ts';
import { recordsInput } from '../delivery/records.ts';
import type { Acting } from '../domain/acting.ts';
import type { Application } from '../domain/application.ts';
import type { Endpoint } from '../domain/endpoint.ts';
import { eraseInput } from '../events/erase.ts';
import { readEvents } from '../events/event-input.ts';
import { type EventTypes, eventTypeReader, viewEventType } from '../events/event-types.ts';
import { eventsText } from '../events/publish.ts';
import type { Clock } from '../kernel/ids.ts';
import { refuseField } from '../kernel/refusal.ts';
import { isoInstant } from '../kernel/schemas.ts';
import { isObject, validate } from '../kernel/validation.ts';
import type { Administration } from '../resources/administration.ts';
import type { InputReader } from '../resources/input.ts';
import type { ListRules } from '../resources/list-rules.ts';
import type { RunOnce } from '../services/once.ts';
import type { Services } from '../services/services.ts';
import { acknowledgeInput } from '../webhooks/acknowledge.ts';
import { viewAttempt, viewDelivery } from '../webhooks/deliveries.ts';
import {
  ENDPOINT_LIST,
  endpointReader,
  rotateApiKeyInput,
  rotateAuthenticationInput,
  rotateInput,
  viewEndpoint,
} from '../webhooks/endpoint-schema.ts';
import { KEY_LIST, keyReader, viewKey } from '../webhooks/keys.ts';
import { signaturePreviewInput } from '../webhooks/signature-schema.ts';
import { giveUpInput } from '../webhooks/waiting-keys.ts';
import {
  filterPreviewInput,
  replayInput,
  viewWebhook,
  WEBHOOK_LIST,
  webhookReader,
} from '../webhooks/webhook-schema.ts';
import { actingOn, createCreateOnce } from './conditions.ts';
import { readDeliveryQuery, readId, readPage, readPageQuery } from './lists.ts';
import type { ChangeOptions, CreateOptions, Program } from './program.ts';
import type { Page } from './records.ts';

/** The use cases that act on what the caller can reach: all, or the resources of its customer. */
type OwnServices = Pick<
  Services,
  | 'users'
  | 'applications'
  | 'endpoints'
  | 'keys'
  | 'webhooks'
  | 'deliveries'
  | 'usage'
  | 'publish'
  | 'readRecords'
  | 'readEvent'
  | 'previewSignature'
> & {
  readonly invitations: Pick<Invitations, 'invite'>;
  readonly eventTypes: Pick<EventTypes, 'get' | 'list'>;
};

/** The use cases that reach further than one customer. */
type OperatorServices = Pick<
  Services,
  'customers' | 'portalLinks' | 'portalTokens' | 'products' | 'eventTypes' | 'erasures'
>;

export type ProgramDependencies = {
  readonly own: OwnServices;
  /** Null for a caller of a customer. */
  readonly operator: OperatorServices | null;
  readonly acting: Acting;
  readonly runOnce: RunOnce;
  readonly clock: Clock;
  /** The address that clients use. Throws `unavailable` if it is unknown. */
  readonly publicUrl: () => string;
};

export function createProgram(dependencies: ProgramDependencies): Program {
  const { own, acting, runOnce, clock } = dependencies;
  return {
    ...operatorPart(dependencies),
    ...accessPart(dependencies),
    ...webhookPart(dependencies),
    keys: resource(own.keys, {
      reader: keyReader,
      list: KEY_LIST,
      view: (key) => viewKey(key, clock()),
      acting,
      runOnce,
    }),
    publish: async (input) => own.publish(readEvents(eventsText(input)), acting),
  };
}

type OperatorPart = Pick<Program, 'customers' | 'products' | 'eventTypes' | 'erasures'>;

function operatorPart(dependencies: ProgramDependencies): OperatorPart {
  const { own, operator, acting, runOnce, clock, publicUrl } = dependencies;
  const usage: Program['customers']['usage'] = async (customer, period) =>
    own.usage.ofCustomer(readId(customer), readUsagePeriod(queryOf(period), clock()));
  const eventTypeParts = {
    reader: eventTypeReader,
    list: inOrderOfCreation('event-types'),
    view: viewEventType,
    acting,
    runOnce,
  };
  if (operator === null) {
    return {
      customers: { ...REFUSED, createPortalLink: refuseCustomer, createPortalToken: refuseCustomer, usage },
      products: REFUSED,
      eventTypes: { ...REFUSED, ...reading(own.eventTypes, eventTypeParts) },
      erasures: { create: refuseCustomer, get: refuseCustomer },
    };
  }
  const { customers, portalLinks, portalTokens, products, eventTypes, erasures } = operator;
  return {
    customers: {
      ...resource(customers, { reader: customerReader, list: CUSTOMER_LIST, view: viewCustomer, acting, runOnce }),
      createPortalLink: async (customer, input) => {
        const asked = validate(portalLinkInput, input);
        const address = publicUrl();
        const { token, expiresAt } = await portalLinks.create(readId(customer), asked, acting);
        return { url: `${address}${PORTAL_LINKS_PATH}/${token}`, expiresAt: isoInstant(expiresAt) };
      },
      createPortalToken: async (customer, input) => {
        const asked = validate(portalTokenInput, input);
        const { token, expiresAt } = await portalTokens.create(readId(customer), asked, acting);
        return { token, expiresAt: isoInstant(expiresAt) };
      },
      usage,
    },
    products: resource(products, {
      reader: productReader,
      list: inOrderOfCreation('products'),
      view: viewProduct,
      acting,
      runOnce,
    }),
    eventTypes: resource(eventTypes, eventTypeParts),
    erasures: {
      create: async (input) => erasures.erase(validate(eraseInput, input), acting),
      get: async (id) => erasures.get(readId(id)),
    },
  };
}

function accessPart(dependencies: ProgramDependencies): Pick<Program, 'users' | 'applications'> {
  const { own, acting, runOnce, clock, publicUrl } = dependencies;
  const { users, invitations, applications } = own;
  const createOnce = createCreateOnce(runOnce, acting);
  const viewed = (application: Application) => viewApplication(application, clock());
  return {
    users: {
      ...resource(users, { reader: userReader, list: USER_LIST, view: viewUser, acting, runOnce }),
      invite: async (id) => {
        const address = publicUrl();
        const { token, expiresAt } = await invitations.invite(readId(id), acting);
        return { url: invitationUrl(address, token), expiresAt: isoInstant(expiresAt) };
      },
    },
    applications: {
      ...changing(applications, { reader: applicationReader, list: APPLICATION_LIST, view: viewed, acting }),
      create: async (input, options) => {
        const body = applicationReader.create(input);
        return createOnce(
          { resource: 'applications', input, options },
          ({ application, clientSecret }: WithSecret) => ({ ...viewed(application), clientSecret }),
          (beside) => applications.create(body, acting, { beside }),
        );
      },
      regenerateSecret: async (id, input = {}) => {
        const asked = validate(regenerateInput, input);
        const { application, clientSecret } = await applications.regenerateSecret(readId(id), asked, acting);
        return { ...viewed(application), clientSecret };
      },
      revokeTokens: async (id) => viewed(await applications.revokeTokens(readId(id), acting)),
    },
  };
}

type WebhookPart = Pick<Program, 'endpoints' | 'webhooks' | 'deliveries'>;

function webhookPart({ own, acting, runOnce, clock }: ProgramDependencies): WebhookPart {
  const createOnce = createCreateOnce(runOnce, acting);
  const { endpoints, webhooks, deliveries, readRecords, readEvent, previewSignature } = own;
  const viewed = (endpoint: Endpoint) => viewEndpoint(endpoint, clock());
  return {
    endpoints: {
      ...changing(endpoints, { reader: endpointReader, list: ENDPOINT_LIST, view: viewed, acting }),
      create: async (input, options) => {
        const body = endpointReader.create(input);
        return createOnce(
          { resource: 'endpoints', input, options },
          (endpoint: Endpoint) => ({ ...viewed(endpoint), secret: endpoint.secret.reveal() }),
          (beside) => endpoints.create(body, acting, { beside }),
        );
      },
      verify: async (id) => viewed(await endpoints.verify(readId(id), acting)),
      rotateSecret: async (id, input = {}) => {
        const { endpoint, newSecret } = await endpoints.rotateSecret(readId(id), validate(rotateInput, input), acting);
        return { ...viewed(endpoint), secret: newSecret.reveal() };
      },
      rotateApiKey: async (id, input = {}) =>
        viewed(await endpoints.rotateApiKey(readId(id), validate(rotateApiKeyInput, input), acting)),
      rotateAuthentication: async (id, input) =>
        viewed(await endpoints.rotateAuthentication(readId(id), validate(rotateAuthenticationInput, input), acting)),
    },
    webhooks: {
      ...resource(webhooks, { reader: webhookReader, list: WEBHOOK_LIST, view: viewWebhook, acting, runOnce }),
      start: async (id) => viewWebhook(await webhooks.start(readId(id), acting)),
      stop: async (id) => viewWebhook(await webhooks.stop(readId(id), acting)),
      replay: async (id, input = {}) => webhooks.replay(readId(id), validate(replayInput, input), acting),
      waitingKeys: async (id, query) => webhooks.keyOrder.waitingKeys(readId(id), readPageQuery(query)),
      giveUp: async (id, input) => webhooks.keyOrder.giveUp(readId(id), validate(giveUpInput, input), acting),
      previewFilter: async (id, input) => webhooks.previewFilter(readId(id), validate(filterPreviewInput, input)),
      previewSignature: async (id, input = {}) => previewSignature(readId(id), validate(signaturePreviewInput, input)),
      readRecords: async (id, query = {}, signal = NEVER_ENDED) => {
        const { wait, ...place } = validate(recordsInput, query);
        return readRecords(readId(id), { ...place, waitMs: wait * 1000, signal });
      },
      readEvent: async (id, query = {}) => readEvent(readId(id), validate(readEventInput, query).webhookId),
      acknowledge: async (id, input) => webhooks.acknowledge(readId(id), validate(acknowledgeInput, input)),
    },
    deliveries: {
      get: async (id) => {
        const { delivery, attempts } = await deliveries.get(readId(id));
        return { ...viewDelivery(delivery), attempts: attempts.map((one) => viewAttempt(one, delivery.customerId)) };
      },
      list: async (query) => {
        const { search, cursor, limit } = readDeliveryQuery(query);
        const { items, next } = await deliveries.list(search, cursor, limit);
        return { items: items.map(viewDelivery), nextCursor: next };
      },
      replay: async (id) => viewDelivery(await deliveries.replay(readId(id), acting)),
    },
  };
}

const NEVER_ENDED: AbortSignal = new AbortController().signal;

type Parts<Rec, Body, Input, View> = {
  readonly reader: InputReader<Body, Input>;
  readonly list: ListRules;
  readonly view: (record: Rec) => View;
  readonly acting: Acting;
};

/** The methods of a resource, before their input is read. */
type Unread<View> = {
  create(input: unknown, options?: CreateOptions): Promise<View>;
  get(id: string): Promise<View>;
  list(query?: unknown): Promise<Page<View>>;
  update(id: string, patch: unknown, options?: ChangeOptions<object>): Promise<View>;
  delete(id: string, options?: ChangeOptions<object>): Promise<void>;
};

/** The methods of a resource whose creation returns its view. */
function resource<Rec extends { readonly id: string }, Body, Input, View>(
  use: Administration<Rec, Body, Input>,
  parts: Parts<Rec, Body, Input, View> & { readonly runOnce: RunOnce },
): Unread<View> {
  const { reader, list, view, acting, runOnce } = parts;
  const createOnce = createCreateOnce(runOnce, acting);
  return {
    ...changing(use, parts),
    create: async (input, options) => {
      const body = reader.create(input);
      return createOnce({ resource: list.name, input, options }, view, (beside) =>
        use.create(body, acting, { beside }),
      );
    },
  };
}

/** The same without `create`. */
function changing<Rec extends { readonly id: string }, Body, Input, View>(
  use: Pick<Administration<Rec, Body, Input>, 'get' | 'list' | 'patch' | 'remove'>,
  parts: Parts<Rec, Body, Input, View>,
): Omit<Unread<View>, 'create'> {
  const { reader, view, acting } = parts;
  return {
    ...reading(use, parts),
    update: async (id, patch, options) =>
      view(await use.patch(readId(id), reader.patch(patch), actingOn(acting, options))),
    delete: async (id, options) => use.remove(readId(id), actingOn(acting, options)),
  };
}

function reading<Rec extends { readonly id: string }, View>(
  use: Pick<Administration<Rec>, 'get' | 'list'>,
  { list, view }: Pick<Parts<Rec, never, never, View>, 'list' | 'view'>,
): Pick<Unread<View>, 'get' | 'list'> {
  return {
    get: async (id) => view(await use.get(readId(id))),
    list: async (query) => {
      const { items, nextCursor } = await readPage(query, list, use.list);
      return { items: items.map(view), nextCursor };
    },
  };
}

/** The list of a resource without filters and other orders. */
function inOrderOfCreation(name: string): ListRules {
  return { name, filters: {}, sorts: {} };
}

/** A period as the query of the API has it. */
function queryOf(period: unknown): URLSearchParams {
  const query = new URLSearchParams();
  if (period === undefined) return query;
  if (!isObject(period)) throw refuseField('period', 'must be an object, such as {since: "2026-11-01"}');
  for (const [name, value] of Object.entries(period)) {
    if (name !== 'since' && name !== 'until') throw refuseField(name, 'is unknown');
    if (value !== undefined) query.set(name, String(value));
  }
  return query;
}

const refuseCustomer = async (): Promise<never> => {
  throw insufficientPermission('only callers of the operator can do this');
};
const REFUSED: Unread<never> = {
  create: refuseCustomer,
  get: refuseCustomer,
  list: refuseCustomer,
  update: refuseCustomer,
  delete: refuseCustomer,
};
