/** The API catalogue as a resource, and the compiled form of it that the gate uses (contract §3.2, §4.2). */

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import {
  type ApiProduct,
  type Catalogue,
  compileCatalogue,
  conflictsOf,
  METHOD,
  offeredScopes,
  PERMISSION_NAME,
  problemsOf,
} from '../domain/catalogue.ts';
import { scopeName } from '../domain/credential.ts';
import { RULES_PER_PRODUCT_MAX, SCOPES_PER_PRODUCT_MAX } from '../domain/limits.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { type FieldProblem, Refusal, refuseFields } from '../kernel/refusal.ts';
import { displayName, id, instant, isoInstant, textSchema } from '../kernel/schemas.ts';
import { type Administration, administer } from '../resources/administration.ts';
import { installBuiltIns } from '../resources/built-in.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import { BUILT_IN_PREFIXES, BUILT_IN_PRODUCTS } from './built-in.ts';
import { requireRightsOfOffer, requireRightsOfRules } from './containment.ts';

/** A character of a literal segment, other than a dot. An escape must not have a plain spelling. */
const PLAIN = "[A-Za-z0-9_~!$&'()*+,:=@-]|%(?:20|22|3[CE]|5[BDE]|60|7[BCD]|[89A-F][0-9A-F])";
/** Not `.` and not `..`. */
const LITERAL = `(?:\\.{3,}|\\.{0,2}(?:${PLAIN}))(?:\\.|${PLAIN})*`;
/** The rules of `parsePattern` that a pattern can express. Repeated names and escapes that are not UTF-8 are refused too. */
const RULE_PATH = `^(?:/(?:${LITERAL}|\\{[A-Za-z][A-Za-z0-9_]*\\}))*/(?:${LITERAL}|\\{[A-Za-z][A-Za-z0-9_]*\\*?\\})$`;

const scope = z
  .strictObject({
    name: scopeName,
    description: textSchema(0, 500).default(''),
    offered: z.boolean().optional().meta({
      description:
        'Administrators of customers may give it to the applications of their customer. The caller must hold it to offer it. Absent: no.',
    }),
  })
  // Exact optional properties: an absent member stays absent.
  .transform(({ offered, ...rest }) => (offered === true ? { ...rest, offered } : rest));
const rule = z.strictObject({
  methods: z
    .array(
      z
        .string()
        .max(20)
        .meta({ pattern: METHOD.source, examples: ['GET'] }),
    )
    .min(1)
    .max(10)
    .meta({ uniqueItems: true }),
  path: z
    .string()
    .max(1000)
    .meta({
      description: '`{name}` matches one segment, a last `{name*}` the rest.',
      examples: ['/services/api/x/files/{path*}'],
      pattern: RULE_PATH,
    }),
  scope: scopeName.meta({ description: 'One of the scopes of this product.' }),
  permission: z
    .string()
    .max(128)
    .meta({ pattern: PERMISSION_NAME.source })
    .optional()
    .meta({ description: "What the user needs; absent: the permission with the scope's name." }),
});

const productInput = z
  .strictObject({
    name: displayName,
    scopes: z.array(scope).max(SCOPES_PER_PRODUCT_MAX).default([]),
    rules: z
      .array(rule)
      .max(RULES_PER_PRODUCT_MAX)
      .default([])
      .meta({ description: 'Requests that no rule names are refused.' }),
  })
  .meta({
    id: 'ProductInput',
    description: 'An API with its scopes, and the rules that say which request needs which.',
  });
export type ProductBody = BodyOf<typeof productInput>;
type ProductInput = z.output<typeof productInput>;

export const productView = z
  .object({
    id,
    name: z.string(),
    builtIn: z.boolean(),
    scopes: z.array(z.object({ name: z.string(), description: z.string(), offered: z.boolean().optional() })),
    rules: z.array(
      z.object({
        methods: z.array(z.string()),
        path: z.string(),
        scope: z.string(),
        permission: z.string().optional(),
      }),
    ),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Product', description: 'An API with its scopes and rules.' });
export type ProductView = z.infer<typeof productView>;
export const productReader = inputReader(productInput, productView);

export type Products = Administration<ApiProduct, ProductBody, ProductInput> & {
  /** The compiled catalogue, for the gate. */
  compiled(): Catalogue;
  /** The sorted names of all scopes in the compiled catalogue. */
  scopeNames(): readonly string[];
  /** The names of the scopes that the operator offers to customers, as compiled. */
  offered(): readonly string[];
  /** Reads and compiles the catalogue again. */
  refresh(): Promise<void>;
  /**
   * The same if another process has changed it, such as a command beside a running server. A server on SQLite calls it every second; on
   * PostgreSQL the gate also calls it after any change of access, so a changed product counts from the next call on.
   */
  refreshIfChanged(): Promise<void>;
};

export function createProducts({ store, clock, ids }: { store: AccessVerbs; clock: Clock; ids: Ids }): Products {
  let catalogue: Catalogue = compileCatalogue([]);
  let scopeNames: readonly string[] = [];
  let offered: readonly string[] = [];
  let compiledVersion = '';
  let begun = 0;
  let compiled = 0;
  const refresh = async (): Promise<void> => {
    begun += 1;
    const turn = begun;
    const version = await store.products.version();
    const products = await store.products.all();
    // A refresh that began later has read the same or newer products.
    if (turn < compiled) return;
    compiled = turn;
    compiledVersion = version;
    catalogue = compileCatalogue(products);
    offered = offeredScopes(products);
    scopeNames = products.flatMap(({ scopes }) => scopes.map(({ name }) => name)).sort();
  };
  const administration = administer<ApiProduct, ProductBody, ProductInput>(
    {
      name: 'product',
      store: store.products,
      reader: productReader,
      writable: ({ name, scopes, rules }) => ({ name, scopes, rules }),
      shown: viewProduct,
      build: async (input, before, stamp) => {
        const rules = input.rules.map(({ permission, ...needed }) =>
          permission === undefined ? needed : { ...needed, permission },
        );
        const product: ApiProduct = { ...stamp, ...input, rules, builtIn: false };
        // Read before the other products, so that a change in between is detected.
        const version = await store.products.version();
        const others = (await store.products.all()).filter((other) => other.id !== product.id);
        refuseAny(problemsOf(product), 'validation_failed');
        refuseAny(
          [...builtInPaths(product), ...takenPaths(product, others), ...takenScopes(product, others)],
          'conflict',
        );
        if (before !== null) await refuseHeldScopes(store, before, product);
        return { record: product, first: [store.products.atVersion(version)] };
      },
      referrers: async ({ scopes }) =>
        holders(
          store,
          scopes.map(({ name }) => name),
        ),
      unique: { 'product.name': 'name' },
      audited: (product) => product,
      contain: async (acting, before, after) => {
        const all = await store.products.all();
        const others = all.filter(({ id }) => id !== (after ?? before)?.id);
        requireRightsOfOffer(acting, before, after);
        const offered = offeredScopes(after === null ? others : [...others, after]);
        const isHeld = async (scope: string): Promise<boolean> =>
          offered.includes(scope) || (await store.applications.holding([scope])).length > 0;
        await requireRightsOfRules(acting, { before, after, others, isHeld });
      },
      readOnly: ({ builtIn, name }) => (builtIn ? `the product ${name} is built in and cannot be changed` : null),
    },
    { clock, ids },
  );
  const refreshing = async <T>(changed: Promise<T>): Promise<T> => {
    const result = await changed;
    await refresh();
    return result;
  };
  return {
    ...administration,
    create: (input, acting, more) => refreshing(administration.create(input, acting, more)),
    patch: (id, patch, acting) => refreshing(administration.patch(id, patch, acting)),
    remove: (id, acting) => refreshing(administration.remove(id, acting)),
    compiled: () => catalogue,
    scopeNames: () => scopeNames,
    offered: () => offered,
    refresh,
    refreshIfChanged: async () => {
      if ((await store.products.version()) !== compiledVersion) await refresh();
    },
  };
}

/** They keep their `createdAt`. */
export function installBuiltInProducts({ products }: AccessVerbs, now: number): Promise<void> {
  return installBuiltIns(products, BUILT_IN_PRODUCTS, (product, before): ApiProduct => {
    const same =
      before !== undefined && isDeepStrictEqual([before.scopes, before.rules], [product.scopes, product.rules]);
    return { ...product, builtIn: true, createdAt: before?.createdAt ?? now, updatedAt: same ? before.updatedAt : now };
  });
}

export function viewProduct({ scopes, rules, createdAt, updatedAt, ...product }: ApiProduct): ProductView {
  return {
    ...product,
    scopes: [...scopes],
    rules: rules.map((needed) => ({ ...needed, methods: [...needed.methods] })),
    createdAt: isoInstant(createdAt),
    updatedAt: isoInstant(updatedAt),
  };
}

function refuseAny(problems: readonly FieldProblem[], code: 'validation_failed' | 'conflict'): void {
  if (problems.length > 0) throw refuseFields(problems, code);
}

/**
 * Only built-in rules may match Sallyport's own paths. A rule with more literals would win over a built-in one, so anyone who may change
 * the catalogue could open every path.
 */
function builtInPaths({ rules }: ApiProduct): FieldProblem[] {
  return rules.flatMap(({ path }, at) => {
    const taken = BUILT_IN_PREFIXES.find((prefix) => path === prefix || path.startsWith(`${prefix}/`));
    return taken === undefined ? [] : [{ field: `rules[${at}].path`, problem: `is under ${taken}, which is built in` }];
  });
}

/** Conflicts of this product only: a conflict between other products cannot be fixed by changing this one. */
function takenPaths(product: ApiProduct, others: readonly ApiProduct[]): FieldProblem[] {
  return conflictsOf([...others, product]).filter(({ productId }) => productId === product.id);
}

/** A scope belongs to one product: an application that holds it must not gain another product's paths by accident. */
function takenScopes(product: ApiProduct, others: readonly ApiProduct[]): FieldProblem[] {
  const owner = new Map(others.flatMap((other) => other.scopes.map(({ name }) => [name, other.name])));
  return product.scopes.flatMap(({ name }, at) =>
    owner.has(name) ? [{ field: `scopes[${at}].name`, problem: `is a scope of product ${owner.get(name)}` }] : [],
  );
}

async function refuseHeldScopes(store: AccessVerbs, before: ApiProduct, after: ApiProduct): Promise<void> {
  const kept = new Set(after.scopes.map(({ name }) => name));
  const dropped = before.scopes.map(({ name }) => name).filter((name) => !kept.has(name));
  const held = dropped.length === 0 ? [] : await holders(store, dropped);
  if (held.length === 0) return;
  const description = `scopes that this would remove (${dropped.join(', ')}) are held by ${held.join(', ')}`;
  const details = held.map((holder) => ({ field: 'scopes', problem: `would lose some that ${holder} holds` }));
  throw new Refusal('in_use', description, { details });
}

async function holders(store: AccessVerbs, scopes: readonly string[]): Promise<string[]> {
  return (await store.applications.holding(scopes)).map(({ id, name }) => `application ${name} (${id})`);
}
