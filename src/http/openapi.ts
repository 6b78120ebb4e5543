/** The OpenAPI 3.1 document of the service (contract §4), made from the routes and the schemas that validate requests. */
import { compileCatalogue, matchRule, type Product } from '../access/catalogue.ts';
import { VERSION } from '../kernel/version.ts';
import { exampleOf } from './openapi-examples.ts';
import { type JsonObject, operationOf, sharedResponse } from './openapi-operation.ts';
import { SHARED_REFUSALS } from './openapi-refusals.ts';
import { collectSchemas, type SchemaCollection } from './openapi-schemas.ts';
import type { Route } from './route.ts';
import { TOKEN_PATH } from './routes/token.ts';

export type OpenApiOptions = {
  /** Those without an `operationId` are left out. */
  readonly routes: readonly Route[];
  /** Without a slash at the end; empty: addresses are relative to that of the document. */
  readonly publicUrl: string;
  /** The products whose rules say which scope a guarded route needs. */
  readonly products: readonly Product[];
};

/** Throws `TypeError` for a guarded route that no rule names: nobody could ever call it. */
export function openApiDocument({ routes, publicUrl, products }: OpenApiOptions): JsonObject {
  const described = routes.filter(({ operationId }) => operationId !== undefined);
  const schemas = collectSchemas();
  const paths = pathsOf(described, products, schemas);
  const responses = Object.entries(SHARED_REFUSALS).map(([status, { name }]) => [
    name,
    sharedResponse(Number(status), schemas),
  ]);
  const tagsUsed = new Set(described.map(({ tag }) => tag));
  const components = schemas.components();
  return {
    openapi: '3.1.0',
    info: { title: 'Sallyport', version: VERSION, summary: SUMMARY, description: DESCRIPTION, license: LICENSE },
    servers: [{ url: publicUrl === '' ? '/' : publicUrl }],
    tags: TAGS.filter(({ name }) => tagsUsed.has(name)),
    paths,
    components: {
      schemas: components,
      responses: Object.fromEntries(responses),
      examples: examplesOf(Object.keys(components)),
      securitySchemes: securitySchemes(publicUrl + TOKEN_PATH, products),
    },
  };
}

function pathsOf(routes: readonly Route[], products: readonly Product[], schemas: SchemaCollection): JsonObject {
  const catalogue = compileCatalogue(products);
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const route of routes) {
    const { method, path, access } = route;
    const rule = access === 'guarded' ? matchRule(catalogue, method, path) : null;
    if (access === 'guarded' && rule === null) throw new TypeError(`no rule names ${method} ${path}`);
    const item = paths[path] ?? {};
    item[method.toLowerCase()] = operationOf(route, rule?.scope ?? null, schemas);
    paths[path] = item;
  }
  return paths;
}

function examplesOf(components: readonly string[]): JsonObject {
  const examples = components.map((name) => [name, { value: exampleOf(name) }] as const);
  return Object.fromEntries(examples.filter(([, { value }]) => value !== undefined));
}

function securitySchemes(tokenUrl: string, products: readonly Product[]): JsonObject {
  const scopes = products.flatMap((product) => product.scopes.map(({ name, description }) => [name, description]));
  return {
    oauth2: {
      type: 'oauth2',
      description: 'An application gets a token with its client id and secret (RFC 6749 §4.4).',
      flows: { clientCredentials: { tokenUrl, scopes: Object.fromEntries(scopes.sort()) } },
    },
    bearer: { type: 'http', scheme: 'bearer', description: 'An access token that is there already (RFC 6750 §2.1).' },
    clientBasic: {
      type: 'http',
      scheme: 'basic',
      description: 'Client id and client secret, each form-encoded before they are joined (RFC 6749 §2.3.1).',
    },
  };
}

const SUMMARY = 'A gate for APIs: access tokens with scopes on the way in, signed webhook deliveries on the way out.';

const LICENSE = { name: 'MIT', identifier: 'MIT' };

const DESCRIPTION = `Get an access token with \`issueToken\` and send it as \`Authorization: Bearer <token>\`. A request needs a scope
of the token, and the user that the application acts as needs the permission of that name; each operation names it.

Instants are ISO 8601 in UTC with milliseconds. Ids are UUIDv7. Unknown fields and query parameters are refused with 400.
Lists come in pages: \`limit\` says how many items, and \`nextCursor\` of one page is the \`cursor\` of the next.

Whatever is refused is answered with the \`Error\` body; its \`errorId\` also stands in the log of the service. An unknown path is
404, another method than a path takes 405 with \`Allow\`, headers that are too large 431, a transfer coding other than \`chunked\`
501, an HTTP version other than 1.0 and 1.1 505. Replies may gain members.`;

const TAGS: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'oauth', description: 'Access tokens: issued, introspected, revoked, and checked for a proxy.' },
  { name: 'applications', description: 'Registered applications: credentials, scopes, and the user they act as.' },
  { name: 'users', description: 'Portal accounts: permissions and constraints.' },
  { name: 'products', description: 'The API catalogue: which request needs which scope.' },
  { name: 'employees', description: 'The employees API: it emits `employee.created` and `employee.updated`.' },
  { name: 'event-types', description: 'The kinds of event.' },
  { name: 'events', description: 'Events on their way in.' },
  { name: 'endpoints', description: 'Where deliveries go, and how they prove who sent them.' },
  { name: 'keys', description: 'PGP keys that deliveries are encrypted to.' },
  { name: 'webhooks', description: 'Which events go to which endpoint.' },
  { name: 'deliveries', description: 'What became of each event for each webhook.' },
  { name: 'audit', description: 'Who changed what.' },
  { name: 'operation', description: 'For monitors, load balancers and generators of clients.' },
];
