/** The scopes of an API product in parts, so that a long list can be folded. */
import type { ApiProduct } from '../../domain/catalogue.ts';

type Scope = ApiProduct['scopes'][number];

export type Area = {
  /** Null: the product is one part. */
  readonly title: string | null;
  readonly scopes: readonly Scope[];
};

/** As many scopes are seen at a glance. */
export const SCOPES_AT_A_GLANCE = 8;
/** More parts than these are no overview. */
const AREAS_MAX = 20;

/** The parts of a built-in product, by the resources that its scopes begin with. */
const BUILT_IN_AREAS: readonly (readonly [title: string, ...resources: string[]])[] = [
  ['Endpoints, webhooks and keys', 'endpoints', 'webhooks', 'keys'],
  ['Events and deliveries', 'events', 'deliveries', 'records'],
  ['Applications and users', 'applications', 'users', 'customers', 'catalogue', 'tokens'],
  ['Audit log and usage', 'audit', 'usage', 'edge'],
];

/** A product with few scopes is one part. Others have a part for each resource that scopes begin with, as `orders` in `orders:view`. */
export function areasOf({ scopes, builtIn }: Pick<ApiProduct, 'scopes' | 'builtIn'>): Area[] {
  const whole = [{ title: null, scopes }];
  if (scopes.length <= SCOPES_AT_A_GLANCE) return whole;
  const titleOf = (resource: string): string =>
    (builtIn && BUILT_IN_AREAS.find(([, ...resources]) => resources.includes(resource))?.[0]) || resource;
  const areas = Map.groupBy(scopes, ({ name }) => titleOf(name.split(':', 1)[0] ?? ''));
  if (areas.size === 1 || areas.size > AREAS_MAX) return whole;
  const place = (title: string): number => BUILT_IN_AREAS.findIndex(([known]) => known === title);
  const made = [...areas].map(([title, scopes]) => ({ title, scopes }));
  return builtIn ? made.toSorted((a, b) => place(a.title) - place(b.title)) : made;
}
