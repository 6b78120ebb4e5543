/** The resources that the audit log names, such as `user:<id>`: by their name, and with a link if they have a page. */
import { type Html, html } from '../http/html.ts';
import { isUuidV7 } from '../kernel/ids.ts';
import type { Store } from '../store/store.ts';
import { copyable } from './parts/code.ts';

export type ResourceLink = {
  /** `user`, `application`, `webhook`…; null without an id, as for `service`. */
  readonly kind: string | null;
  /** Its name; the end of its id if it was deleted. */
  readonly name: string;
  readonly href: string | null;
};

type Source = { readonly path: string; name(store: Store, id: string): Promise<string | null> };

const SOURCES: Readonly<Record<string, Source>> = {
  user: { path: '/users', name: async (store, id) => (await store.users.get(id))?.userName ?? null },
  application: { path: '/applications', name: async (store, id) => (await store.applications.get(id))?.name ?? null },
  product: { path: '/products', name: async (store, id) => (await store.products.get(id))?.name ?? null },
  endpoint: { path: '/endpoints', name: async (store, id) => (await store.endpoints.get(id))?.name ?? null },
  key: { path: '/keys', name: async (store, id) => (await store.keys.get(id))?.name ?? null },
  webhook: { path: '/webhooks', name: async (store, id) => (await store.webhooks.get(id))?.name ?? null },
  'event-type': { path: '/event-types', name: async (store, id) => (await store.eventTypes.get(id))?.name ?? null },
  delivery: { path: '/deliveries', name: async (_, id) => id },
};

const FIXED: Readonly<Record<string, string>> = {
  service: 'Sallyport itself',
  'command-line': 'the command line',
  'embedding-program': 'the embedding program',
};

/** Reads each resource once. A page names few, so each costs one read. */
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

/** Its kind, and its name as a link. */
export function resourceLink({ kind, name, href }: ResourceLink): Html {
  const label = href === null ? html`<span>${name}</span>` : html`<a href="${href}">${name}</a>`;
  return kind === null
    ? label
    : html`<span class="thing"><span class="quiet">${kind.replaceAll('-', ' ')}</span> ${label}</span>`;
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
