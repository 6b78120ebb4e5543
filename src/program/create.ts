/**
 * Makes the methods of `Program` of the use cases: reads the input, since a program in plain JavaScript has no compiler, and returns views.
 */
import { z } from 'zod';
import {
  APPLICATION_LIST,
  applicationReader,
  regenerateInput,
  viewApplication,
  type WithSecret,
} from '../access/applications.ts';
import { insufficientPermission } from '../access/gate.ts';
import { type Invitations, type NewInvitation, viewInvitation } from '../access/invitations.ts';
import { productReader, viewProduct } from '../access/products.ts';
import { USER_LIST, userReader, viewUser } from '../access/users.ts';
import { CUSTOMER_LIST, customerReader, viewCustomer } from '../customers/customers.ts';
import { type NewPortalLink, portalLinkInput, viewPortalLink } from '../customers/portal-links.ts';
import { portalTokenInput, viewPortalToken } from '../customers/portal-tokens.ts';
import { readUsagePeriod } from '../customers/usage.ts';
import { readEventInput } from '../delivery/reads/read-event.ts';
import { recordsInput } from '../delivery/reads/records.ts';
import type { Acting } from '../domain/acting.ts';
import type { Application } from '../domain/application.ts';
import type { Endpoint } from '../domain/endpoint.ts';
import { eraseInput } from '../events/erase.ts';
import { readEvents } from '../events/event-input.ts';
import { type EventTypes, eventTypeReader, viewEventType } from '../events/event-types.ts';
import { eventsText } from '../events/publish.ts';
import type { Clock } from '../kernel/ids.ts';
import { refuseField } from '../kernel/refusal.ts';
import { isObject, validate } from '../kernel/validation.ts';
import type { Administration } from '../resources/administration.ts';
import type { InputReader } from '../resources/input.ts';
import type { ListRules } from '../resources/list-rules.ts';
import type { RunOnce } from '../services/once.ts';
import type { Services } from '../services/services.ts';
import { acknowledgeInput } from '../webhooks/acknowledge.ts';
import { viewDelivery, viewWithAttempts } from '../webhooks/deliveries.ts';
import {
  ENDPOINT_LIST,
  endpointReader,
  rotateApiKeyInput,
  rotateAuthenticationInput,
  rotateInput,
  viewEndpoint,
} from '../webhooks/endpoint-schema.ts';
import type { WithNewSecret } from '../webhooks/endpoints.ts';
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
import { actingOn, createOnce, idAsRead, type Once } from './conditions.ts';
import { readDeliveryQuery, readId, readListPage, readPageQuery } from './lists.ts';
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

type ProgramDependencies = {
  readonly own: OwnServices;
  /** Null for a caller of a customer. */
  readonly operator: OperatorServices | null;
  readonly acting: Acting;
  readonly runOnce: RunOnce;
  readonly clock: Clock;
  /** The address that clients use. Throws `unavailable` if it is unknown. */
  readonly publicUrl: () => string;
};

type Parts = Omit<ProgramDependencies, 'runOnce'> & { readonly once: Once };

export function createProgram({ runOnce, ...dependencies }: ProgramDependencies): Program {
  const { own, acting, clock } = dependencies;
  const once = createOnce(runOnce, acting);
  const parts = { ...dependencies, once };
  return {
    ...operatorPart(parts),
    ...accessPart(parts),
    ...webhookPart(parts),
    keys: resource(own.keys, {
      reader: keyReader,
      list: KEY_LIST,
      view: (key) => viewKey(key, clock()),
      acting,
      once,
    }),
    publish: async (input) => own.publish(readEvents(eventsText(input)), acting),
  };
}

type OperatorPart = Pick<Program, 'customers' | 'products' | 'eventTypes' | 'erasures'>;

function operatorPart({ own, operator, acting, once, clock, publicUrl }: Parts): OperatorPart {
  const usage: Program['customers']['usage'] = async (customer, period) =>
    own.usage.ofCustomer(readId(customer), readUsagePeriod(queryOf(period), clock()));
  const eventTypeParts = {
    reader: eventTypeReader,
    list: inOrderOfCreation('event-types'),
    view: viewEventType,
    acting,
    once,
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
  const linkOf = (made: NewPortalLink) => viewPortalLink(publicUrl(), made);
  return {
    customers: {
      ...resource(customers, { reader: customerReader, list: CUSTOMER_LIST, view: viewCustomer, acting, once }),
      createPortalLink: once.action(
        'customers/portal-links',
        portalLinkInput,
        linkOf,
        async (id, input, as, beside) => {
          // Without an address there is no link, so nothing is made.
          publicUrl();
          return portalLinks.create(id, input, as, beside);
        },
      ),
      createPortalToken: once.action('customers/portal-tokens', portalTokenInput, viewPortalToken, portalTokens.create),
      usage,
    },
    products: resource(products, {
      reader: productReader,
      list: inOrderOfCreation('products'),
      view: viewProduct,
      acting,
      once,
    }),
    eventTypes: resource(eventTypes, eventTypeParts),
    erasures: {
      create: async (input) => erasures.erase(validate(eraseInput, input), acting),
      get: async (id) => erasures.get(readId(id)),
    },
  };
}

function accessPart({ own, acting, once, clock, publicUrl }: Parts): Pick<Program, 'users' | 'applications'> {
  const { users, invitations, applications } = own;
  const viewed = (application: Application) => viewApplication(application, clock());
  const withSecret = ({ application, clientSecret }: WithSecret) => ({ ...viewed(application), clientSecret });
  const linkOf = (made: NewInvitation) => viewInvitation(publicUrl(), made);
  const invite = once.action('users/invite', noInput, linkOf, async (id, _, as, beside) => {
    // Without an address there is no link, so nothing is made.
    publicUrl();
    return invitations.invite(id, as, beside);
  });
  return {
    users: {
      ...resource(users, { reader: userReader, list: USER_LIST, view: viewUser, acting, once }),
      invite: (id, options) => invite(id, {}, options),
    },
    applications: {
      ...changing(applications, { reader: applicationReader, list: APPLICATION_LIST, view: viewed, acting }),
      create: async (input, options) => {
        const body = applicationReader.create(input);
        return once.create({ resource: 'applications', input, options }, withSecret, (beside) =>
          applications.create(body, acting, { beside }),
        );
      },
      regenerateSecret: once.action(
        'applications/regenerate-secret',
        regenerateInput,
        withSecret,
        applications.regenerateSecret,
      ),
      revokeTokens: async (id, options) =>
        viewed(await applications.revokeTokens(readId(id), actingOn(acting, options))),
    },
  };
}

type WebhookPart = Pick<Program, 'endpoints' | 'webhooks' | 'deliveries'>;

function webhookPart({ own, acting, once, clock }: Parts): WebhookPart {
  const { endpoints, webhooks, deliveries, readRecords, readEvent, previewSignature } = own;
  const viewed = (endpoint: Endpoint) => viewEndpoint(endpoint, clock());
  const asRead = (named: string, options: ChangeOptions<object> | undefined): Promise<string> =>
    idAsRead(named, options, 'webhook', async (id) => viewWebhook(await webhooks.get(id)));
  return {
    endpoints: {
      ...changing(endpoints, { reader: endpointReader, list: ENDPOINT_LIST, view: viewed, acting }),
      create: async (input, options) => {
        const body = endpointReader.create(input);
        return once.create(
          { resource: 'endpoints', input, options },
          (endpoint: Endpoint) => ({ ...viewed(endpoint), secret: endpoint.secret.reveal() }),
          (beside) => endpoints.create(body, acting, { beside }),
        );
      },
      verify: async (id, options) => viewed(await endpoints.verify(readId(id), actingOn(acting, options))),
      rotateSecret: once.action(
        'endpoints/rotate-secret',
        rotateInput,
        ({ endpoint, newSecret }: WithNewSecret) => ({ ...viewed(endpoint), secret: newSecret.reveal() }),
        endpoints.rotateSecret,
      ),
      rotateApiKey: once.action('endpoints/rotate-api-key', rotateApiKeyInput, viewed, endpoints.rotateApiKey),
      rotateAuthentication: once.action(
        'endpoints/rotate-authentication',
        rotateAuthenticationInput,
        viewed,
        endpoints.rotateAuthentication,
      ),
    },
    webhooks: {
      ...resource(webhooks, { reader: webhookReader, list: WEBHOOK_LIST, view: viewWebhook, acting, once }),
      start: async (id, options) => viewWebhook(await webhooks.start(readId(id), actingOn(acting, options))),
      stop: async (id, options) => viewWebhook(await webhooks.stop(readId(id), actingOn(acting, options))),
      replay: async (id, input = {}, options) =>
        webhooks.replay(await asRead(id, options), validate(replayInput, input), acting),
      waitingKeys: async (id, query) => webhooks.keyOrder.waitingKeys(readId(id), readPageQuery(query)),
      giveUp: async (id, input, options) =>
        webhooks.keyOrder.giveUp(await asRead(id, options), validate(giveUpInput, input), acting),
      previewFilter: async (id, input, options) =>
        webhooks.previewFilter(await asRead(id, options), validate(filterPreviewInput, input)),
      previewSignature: async (id, input = {}, options) =>
        previewSignature(await asRead(id, options), validate(signaturePreviewInput, input)),
      readRecords: async (id, query = {}, signal = NEVER_ENDED) => {
        const { wait, ...place } = validate(recordsInput, query);
        return readRecords(readId(id), { ...place, waitMs: wait * 1000, signal });
      },
      readEvent: async (id, query = {}) => readEvent(readId(id), validate(readEventInput, query).webhookId),
      acknowledge: async (id, input, options) =>
        webhooks.acknowledge(await asRead(id, options), validate(acknowledgeInput, input)),
    },
    deliveries: {
      get: async (id) => viewWithAttempts(await deliveries.get(readId(id))),
      list: async (query) => {
        const { search, cursor, limit } = readDeliveryQuery(query);
        const { items, next } = await deliveries.list(search, cursor, limit);
        return { items: items.map(viewDelivery), nextCursor: next };
      },
      replay: async (named, options) => {
        const id = await idAsRead(named, options, 'delivery', async (of) => viewWithAttempts(await deliveries.get(of)));
        return viewDelivery(await deliveries.replay(id, acting));
      },
    },
  };
}

const noInput = z.strictObject({});
const NEVER_ENDED: AbortSignal = new AbortController().signal;

type ResourceParts<Rec, Body, Input, View> = {
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
  parts: ResourceParts<Rec, Body, Input, View> & { readonly once: Once },
): Unread<View> {
  const { reader, list, view, acting, once } = parts;
  return {
    ...changing(use, parts),
    create: async (input, options) => {
      const body = reader.create(input);
      return once.create({ resource: list.name, input, options }, view, (beside) =>
        use.create(body, acting, { beside }),
      );
    },
  };
}

/** The same without `create`. */
function changing<Rec extends { readonly id: string }, Body, Input, View>(
  use: Pick<Administration<Rec, Body, Input>, 'get' | 'list' | 'patch' | 'remove'>,
  parts: ResourceParts<Rec, Body, Input, View>,
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
  { list, view }: Pick<ResourceParts<Rec, never, never, View>, 'list' | 'view'>,
): Pick<Unread<View>, 'get' | 'list'> {
  return {
    get: async (id) => view(await use.get(readId(id))),
    list: async (query) => {
      const { items, nextCursor } = await readListPage(query, list, use.list);
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
