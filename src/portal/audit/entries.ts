/** The sentence of an entry of the audit log: the actor, the action and its object. */
import type { AuditAction, Changes } from '../../domain/audit.ts';
import type { PortalTheme } from '../../domain/portal-theme.ts';
import { type Html, html } from '../../http/html.ts';
import { deliveryAddress, isUuidV7 } from '../../kernel/ids.ts';
import { isObject } from '../../kernel/validation.ts';
import { type AuditRecord, OPERATOR_ACTOR } from '../../store/port/audit.ts';
import type { Store } from '../../store/port/store.ts';
import { operatorName } from '../parts/brand.ts';
import { copyable } from '../parts/details.ts';
import { capital, sentence } from '../parts/text.ts';
import { isNamedForApplications } from '../record/account-of-applications.ts';

/** The actors as the reader of this portal may know them. */
export function actorsSeen(
  { customerId }: Pick<Store, 'customerId'>,
  linkOf: (reference: string) => ResourceLink,
  brand: PortalTheme | null,
): (reference: string) => ResourceLink {
  return customerId === null
    ? withoutIds(linkOf)
    : actorsFor(linkOf, brand === null ? 'your provider' : operatorName(brand));
}

/** Links and tokens have no name, and their ids say nothing: the customer is beside the object. */
function withoutIds(linkOf: (reference: string) => ResourceLink): (reference: string) => ResourceLink {
  return (actor) => {
    const name = NAMELESS[split(actor)[0] ?? ''];
    return name === undefined ? linkOf(actor) : { kind: null, href: null, name };
  };
}

const BY_LINK = 'someone with a portal link';
const NAMELESS: Readonly<Record<string, string>> = {
  'portal-link': BY_LINK,
  'portal-token': 'a portal token',
};

/** The actors as a customer sees them. The people of the operator have no name here. */
function actorsFor(linkOf: (reference: string) => ResourceLink, operator: string): (reference: string) => ResourceLink {
  const nobody = { kind: null, href: null };
  return (actor) => {
    const [kind = ''] = split(actor);
    const nameless = NAMELESS[kind];
    if (nameless !== undefined) return { ...nobody, name: nameless };
    if (actor === 'service') return { ...nobody, name: `the service of ${operator}` };
    return actor === OPERATOR_ACTOR ? { ...nobody, name: operator } : linkOf(actor);
  };
}

const ACTIONS: Readonly<Record<AuditAction, string>> = {
  'customer.create': 'Created the customer',
  'customer.update': 'Changed the customer',
  'customer.delete': 'Deleted the customer',
  'customer.create-link': 'Created a portal link for the customer',
  'customer.open-link': 'Opened the portal of the customer',
  'customer.create-token': 'Created a portal token for the customer',
  'portal.update': 'Changed the look of the customers’ portal',
  'user.create': 'Created the user',
  'user.update': 'Changed the user',
  'user.delete': 'Deleted the user',
  'user.invite': 'Invited the user',
  'user.set-password': 'Set the password',
  'user.add-passkey': 'Added a passkey',
  'user.remove-passkey': 'Removed a passkey',
  'user.refuse-passkey': 'Refused a passkey, possibly a copy',
  'user.sign-in': 'Signed in',
  'user.sign-out': 'Signed out',
  'user.sign-out-everywhere': 'Signed out everywhere',
  'application.create': 'Created the application',
  'application.update': 'Changed the application',
  'application.delete': 'Deleted the application',
  'application.regenerate-secret': 'Regenerated the secret',
  'application.revoke-tokens': 'Revoked all tokens',
  'product.create': 'Created the API product',
  'product.update': 'Changed the API product',
  'product.delete': 'Deleted the API product',
  'endpoint.create': 'Created the endpoint',
  'endpoint.update': 'Changed the endpoint',
  'endpoint.delete': 'Deleted the endpoint',
  'endpoint.verify': 'Verified the endpoint',
  'endpoint.rotate-secret': 'Rotated the secret',
  'endpoint.rotate-api-key': 'Rotated the API key',
  'endpoint.rotate-authentication': 'Rotated the authentication',
  'key.create': 'Created the key',
  'key.update': 'Changed the key',
  'key.delete': 'Deleted the key',
  'event-type.create': 'Created the event type',
  'event-type.update': 'Changed the event type',
  'event-type.delete': 'Deleted the event type',
  'webhook.create': 'Created the webhook',
  'webhook.update': 'Changed the webhook',
  'webhook.delete': 'Deleted the webhook',
  'webhook.start': 'Started the webhook',
  'webhook.stop': 'Stopped the webhook',
  'webhook.replay': 'Sent deliveries of the webhook again',
  'webhook.give-up': 'Gave up pending deliveries of a key',
  'delivery.replay': 'Sent the delivery again',
  'event.erase': 'Requested the erasure of a person’s data',
  'event.erase-done': 'Erased a person’s data',
  'backup.download': 'Downloaded a backup',
  'database.move': 'Moved to another database',
  'database.restore': 'Restored a backup',
  'master-key.rotate': 'Rotated the master key',
};

const TEXTS: ReadonlyMap<string, string> = new Map(Object.entries(ACTIONS));

/** A customer reads of itself as "you". */
const CUSTOMERS_TEXTS: ReadonlyMap<string, string> = new Map([
  ['customer.create', 'Created your account'],
  ['customer.update', 'Changed your account'],
  ['customer.delete', 'Deleted your account'],
  ['customer.create-link', 'Created a link to this portal'],
  ['customer.open-link', 'Opened this portal'],
  ['customer.create-token', 'Created a portal token'],
]);

/** The texts of the actions of a log. Only the operator has what `OF_OPERATOR` names. */
export function actionTexts(isCustomers: boolean): readonly (readonly [action: string, text: string])[] {
  const all = [...TEXTS];
  if (!isCustomers) return all;
  return all
    .filter(([action]) => !OF_OPERATOR.has(action.split('.', 1)[0] ?? ''))
    .map(([action, text]) => [action, CUSTOMERS_TEXTS.get(action) ?? text]);
}

/** Kinds of what only the operator has. */
const OF_OPERATOR: ReadonlySet<string> = new Set([
  'portal',
  'product',
  'event-type',
  'backup',
  'database',
  'master-key',
]);

type Told = Pick<AuditRecord, 'action' | 'changes'>;

/**
 * The text of the action. A verification that failed is told apart, and so is a delivery that was tried before its time: each has an action
 * with another. An unknown action is shown by its name.
 */
export function entryText({ action, changes }: Told, isCustomers = false): string {
  if (action === 'endpoint.verify' && failedVerification(changes) !== null)
    return 'Tried to verify the endpoint: failed';
  if (action === 'delivery.replay' && changes.nextAttemptAt !== undefined) return 'Tried the delivery now';
  const switched = action === 'customer.update' ? suspensionText(changes, isCustomers) : null;
  if (switched !== null) return switched;
  const text = (isCustomers ? CUSTOMERS_TEXTS.get(action) : undefined) ?? TEXTS.get(action);
  return text ?? action.replace('.', ': ').replaceAll('-', ' ');
}

/** A change of nothing else but whether the customer is active; null for another. */
function suspensionText({ active, ...others }: Changes, isCustomers: boolean): string | null {
  if (active === undefined || Object.keys(others).length > 0) return null;
  return `${active.to === true ? 'Activated' : 'Suspended'} ${isCustomers ? 'your account' : 'the customer'}`;
}

function failedVerification({ lastVerification }: Changes): Readonly<Record<string, unknown>> | null {
  const verification = lastVerification?.to;
  return isObject(verification) && verification.verified === false ? verification : null;
}

/** Why a verification failed, in a sentence. Null for another change. */
export function verificationText(changes: Changes): string | null {
  const { error = null, responseStatus = null } = failedVerification(changes) ?? {};
  if (typeof error === 'string') return sentence(error);
  return responseStatus === null ? null : `The answer had the status ${String(responseStatus)}.`;
}

/** The names of kinds in texts, if they are others. */
const NOUNS: Readonly<Record<string, string>> = { 'event-type': 'event type', product: 'API product' };
/** The word for a kind of object. */
export function kindNoun(kind: string): string {
  return NOUNS[kind] ?? kind;
}

/** Kinds that a sentence does not name: there is one of them, or the text says it. */
const UNNAMED: ReadonlySet<string | null> = new Set([null, 'portal', 'backup', 'database', 'master-key']);

/** `Grace Hopper changed the endpoint Shop backend`: the name of the object follows its kind. */
export function entrySentence(
  entry: Told & Pick<AuditRecord, 'actor' | 'target'>,
  { who, what, isCustomers }: { readonly who: Html; readonly what: ResourceLink; readonly isCustomers: boolean },
): Html {
  const text = entryText(entry, isCustomers);
  const done = `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
  const { kind } = what;
  if (isAccountOfApplications(entry)) return html`${who} created ${accountOf(what, isCustomers)}`;
  if (UNNAMED.has(kind) || entry.actor === entry.target || (isCustomers && kind === 'customer'))
    return html`${who} ${done}`;
  const noun = `the ${kindNoun(kind ?? '')}`;
  const at = done.indexOf(noun);
  const name = resourceLink({ ...what, kind: null });
  if (at >= 0) return html`${who} ${done.slice(0, at + noun.length)} ${name}${done.slice(at + noun.length)}`;
  return kind === 'subject' ? html`${who} ${done}: ${name}` : html`${who} ${done} of ${noun} ${name}`;
}

/** Whether the first application of a customer made this account. */
function isAccountOfApplications({ action, changes: { role, userName, displayName } }: Told): boolean {
  const created = { role: role?.to, userName: userName?.to, displayName: displayName?.to };
  return action === 'user.create' && isNamedForApplications(created);
}

function accountOf(what: ResourceLink, isCustomers: boolean): Html {
  const whose = isCustomers ? 'your applications' : 'applications';
  const name = what.href === null ? html`the account` : html`<a href="${what.href}">the account</a>`;
  return html`${name} for ${whose} (automatic, with the first application)`;
}

/** A deleted object has the name that the entry about its deletion or creation keeps. */
export function namedByEntry({ changes }: Pick<AuditRecord, 'changes'>, what: ResourceLink): ResourceLink {
  if (what.href !== null) return what;
  const kept = changes.name ?? changes.userName;
  const name = kept?.from ?? kept?.to;
  return typeof name === 'string' ? { ...what, name } : what;
}

export type ResourceLink = {
  /** `user`, `application`, `webhook`…; null without an id, as for `service`. */
  readonly kind: string | null;
  /** Its name; the end of its id if it was deleted. */
  readonly name: string;
  readonly href: string | null;
};

type Source = { readonly path: string; name(store: Store, id: string): Promise<string | null> };

async function userName(store: Store, id: string): Promise<string | null> {
  const user = await store.users.get(id);
  return user === null ? null : (user.displayName ?? user.userName);
}

/** A delivery has no name: `order.created #164 of Orders`. */
async function deliveryName(store: Store, id: string): Promise<string | null> {
  const address = deliveryAddress(id);
  const delivery = address === null ? null : await store.deliveries.get(address);
  return delivery === null ? null : `${delivery.eventType} #${delivery.offset} of ${delivery.webhookName}`;
}

const SOURCES: Readonly<Record<string, Source>> = {
  customer: { path: '/customers', name: async (store, id) => (await store.customers.get(id))?.name ?? null },
  user: { path: '/users', name: userName },
  application: { path: '/applications', name: async (store, id) => (await store.applications.get(id))?.name ?? null },
  product: { path: '/products', name: async (store, id) => (await store.products.get(id))?.name ?? null },
  endpoint: { path: '/endpoints', name: async (store, id) => (await store.endpoints.get(id))?.name ?? null },
  key: { path: '/keys', name: async (store, id) => (await store.keys.get(id))?.name ?? null },
  webhook: { path: '/webhooks', name: async (store, id) => (await store.webhooks.get(id))?.name ?? null },
  'event-type': { path: '/event-types', name: async (store, id) => (await store.eventTypes.get(id))?.name ?? null },
  delivery: { path: '/deliveries', name: deliveryName },
};

const FIXED: Readonly<Record<string, string>> = {
  service: 'Sallyport itself',
  'command-line': 'the command line',
  'embedding-program': 'the embedding program',
};

/** Reads each resource once. */
export async function readResourceLinks(
  store: Store,
  references: Iterable<string>,
  hasPage: (path: string) => boolean,
): Promise<(reference: string) => ResourceLink> {
  const distinct = [...new Set(references)];
  const found = await Promise.all(
    distinct.map(async (reference) => [reference, await readResourceLink(store, reference, hasPage)] as const),
  );
  const links = new Map(found);
  return (reference) => links.get(reference) ?? unknown(reference);
}

/** At the beginning of a sentence. Names of people and programs are as they are. */
export function actorName({ kind, name }: Pick<ResourceLink, 'kind' | 'name'>): string {
  return kind === null ? capital(name) : name;
}

/** Its kind, and its name as a link. */
export function resourceLink({ kind, name, href }: ResourceLink): Html {
  const label = href === null ? html`<span>${name}</span>` : html`<a href="${href}">${name}</a>`;
  return kind === null
    ? label
    : html`<span class="resource"><span class="quiet">${kind.replaceAll('-', ' ')}</span> ${label}</span>`;
}

/** Its id, with a button that copies it. */
export function resourceId(reference: string): Html {
  const id = reference.slice(reference.indexOf(':') + 1);
  return isUuidV7(id) ? copyable(id, 'id', `…${id.slice(-12)}`) : copyable(id);
}

async function readResourceLink(
  store: Store,
  reference: string,
  hasPage: (path: string) => boolean,
): Promise<ResourceLink> {
  const [kind = '', id = ''] = split(reference);
  const source = SOURCES[kind];
  if (source === undefined || !isUuidV7(id)) return unknown(reference);
  const name = await source.name(store, id);
  const item = `${source.path}/{id}`;
  return name === null
    ? { kind, name: `…${id.slice(-12)} (deleted)`, href: null }
    : { kind, name, href: hasPage(item) ? `${source.path}/${id}` : null };
}

function unknown(reference: string): ResourceLink {
  const fixed = FIXED[reference];
  if (fixed !== undefined) return { kind: null, name: fixed, href: null };
  const [kind = '', id = ''] = split(reference);
  return id === '' ? { kind: null, name: kind, href: null } : { kind, name: id, href: null };
}

function split(reference: string): readonly string[] {
  const at = reference.indexOf(':');
  return at === -1 ? [reference] : [reference.slice(0, at), reference.slice(at + 1)];
}
