/** The OpenAPI 3.1 document of the service (contract §4.16), built from the routes and the schemas that validate requests. */
import type { z } from 'zod';
import { compileCatalogue, matchRule, type Product } from '../domain/catalogue.ts';
import { readAsset } from '../kernel/assets.ts';
import { REFUSAL_STATUS } from '../kernel/refusal.ts';
import { VERSION } from '../kernel/version.ts';
import { errorBodySchema } from './error-body.ts';
import { collectSchemas, componentNames, type JsonSchema, type SchemaCollection } from './openapi-schemas.ts';
import { type BodyRule, type ReplyDescription, type Route, TOKEN_PATH } from './route.ts';

type JsonObject = Readonly<Record<string, unknown>>;

type OpenApiOptions = {
  /** Routes without an `operationId` are left out. */
  readonly routes: readonly Route[];
  /** Without a trailing slash. Empty: addresses are relative to the address of the document. */
  readonly publicUrl: string;
  /** The products whose rules name the scope of each guarded route. */
  readonly products: readonly Product[];
};

/** Throws `TypeError` for a guarded route without a rule: nobody could ever call it. */
export function openApiDocument({ routes, publicUrl, products }: OpenApiOptions): JsonObject {
  const described = routes.filter(({ operationId }) => operationId !== undefined);
  const schemas = collectSchemas();
  const paths = pathsOf(described, products, schemas);
  const responses = Object.entries(examples().refusals).map(([status, { name }]) => [
    name,
    refusalResponse(Number(status), {}, schemas),
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
    bearer: { type: 'http', scheme: 'bearer', description: 'An existing access token (RFC 6750 §2.1).' },
    clientBasic: {
      type: 'http',
      scheme: 'basic',
      description: 'Client id and client secret, each form-encoded before they are joined (RFC 6749 §2.3.1).',
    },
  };
}

/** `scope`: the scope that the catalogue requires, null on an open route. */
function operationOf(route: Route, scope: string | null, schemas: SchemaCollection): JsonObject {
  const { operationId, summary, tag, description, body, anyMethod } = route;
  const needs = scope ?? route.authentication?.scope;
  const prose = [
    description,
    needs && `Needs the scope \`${needs}\`, and its user the permission of that name.`,
  ].filter(Boolean);
  const parameters = parametersOf(route, schemas);
  return {
    operationId,
    tags: [tag],
    summary,
    ...(prose.length === 0 ? {} : { description: prose.join(' ') }),
    ...(anyMethod === true ? { 'x-any-method': true } : {}),
    security: securityOf(route, scope),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: requestBodyOf(body, schemas) }),
    responses: responsesOf(route, schemas),
  };
}

function securityOf({ access, authentication }: Route, scope: string | null): JsonObject[] {
  if (access === 'guarded') return bearerOf(scope);
  return (authentication?.by ?? []).flatMap((by) => {
    if (by === 'bearer') return bearerOf(authentication?.scope ?? null);
    return by === 'basic' ? [{ clientBasic: [] }] : [{}];
  });
}

function bearerOf(scope: string | null): JsonObject[] {
  const scopes = scope === null ? [] : [scope];
  return [{ oauth2: scopes }, { bearer: scopes }];
}

function parametersOf({ path, query = {}, headers = {} }: Route, schemas: SchemaCollection): JsonObject[] {
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      description: 'UUIDv7',
      schema: { type: 'string', format: 'uuid' },
    })),
    ...Object.entries(query).map(([name, { schema, description }]) => ({
      name,
      in: 'query',
      description,
      schema: schemas.add(schema, 'input'),
    })),
    ...Object.entries(headers).map(([name, { schema, description }]) => ({
      name,
      in: 'header',
      description,
      schema: schemas.add(schema, 'input'),
    })),
  ];
}

function requestBodyOf(
  { types, schema, formSchema, optional, maxBytes }: BodyRule,
  schemas: SchemaCollection,
): JsonObject {
  const isPatch = types.includes('application/merge-patch+json');
  const content = types.map((type) => {
    if (type === 'application/x-www-form-urlencoded') return [type, media(schemas.add(formSchema ?? schema, 'input'))];
    return [type, media(isPatch ? schemas.addPatch(schema) : schemas.add(schema, 'input'))];
  });
  return {
    description: `At most ${maxBytes} bytes.`,
    required: optional !== true,
    content: Object.fromEntries(content),
  };
}

function responsesOf(route: Route, schemas: SchemaCollection): JsonObject {
  const statuses = new Set([...Object.keys(route.replies).map(Number), ...refusalStatuses(route)]);
  const responses = [...statuses]
    .sort((a, b) => a - b)
    .map((status) => {
      const reply = route.replies[status];
      if (status < 400) return [status, replyResponse(status, reply as ReplyDescription, schemas)];
      const own = route.refusal !== undefined || reply?.schema !== undefined || reply?.headers !== undefined;
      const response = own
        ? refusalResponse(status, { ...reply, bodies: route.refusal }, schemas)
        : sharedRef(status, reply);
      return [status, response];
    });
  return Object.fromEntries(responses);
}

/** A description beside a reference overrides the shared description (OpenAPI 3.1). */
function sharedRef(status: number, reply: ReplyDescription | undefined): JsonObject {
  const $ref = `#/components/responses/${sharedRefusal(status).name}`;
  return reply === undefined ? { $ref } : { $ref, description: reply.description };
}

function replyResponse(status: number, reply: ReplyDescription, schemas: SchemaCollection): JsonObject {
  const { description, schema, mediaType = 'application/json', headers = {}, hasNoAddress = false } = reply;
  const encrypted = reply.mayBeEncrypted === true ? { 'application/octet-stream': media(PGP_MESSAGE) } : {};
  const all = status === 201 && !hasNoAddress ? { Location: 'The address of the new resource.', ...headers } : headers;
  if (schema === undefined) return { description, ...headersOf(all, true) };
  const shown = schemas.add(schema, 'output');
  const [name = ''] = componentNames(shown);
  const special = reply.example && { [name]: { value: { ...(exampleOf(name) as JsonObject), ...reply.example } } };
  return {
    description,
    ...headersOf(all, true),
    content: { [mediaType]: media(shown, special), ...encrypted },
  };
}

const PGP_MESSAGE: JsonSchema = { type: 'string', format: 'binary', description: 'A PGP message of the JSON.' };

type Refused = Partial<ReplyDescription> & {
  /** The schema of the route's refusals if it is not only the error body. */
  readonly bodies?: z.ZodType | undefined;
};

function refusalResponse(status: number, reply: Refused, schemas: SchemaCollection): JsonObject {
  const shared = sharedRefusal(status);
  const { description = shared.description, schema = reply.bodies ?? errorBodySchema, headers = {} } = reply;
  const [header, meaning] = shared.header ?? [];
  const oauth = reply.bodies !== undefined;
  // A client that sent its credentials in the body gets no WWW-Authenticate header.
  const always = !(oauth && status === 401);
  const examples = oauth
    ? oauthErrorExamples(status, shared.example)
    : { Error: { value: errorExample(status, shared.example) } };
  return {
    description: `${description.replace(/\.$/, '')}. Codes: ${codesOf(status)}.`,
    ...headersOf({ ...(header === undefined ? {} : { [header]: meaning ?? '' }), ...headers }, always),
    content: { 'application/json': media(schemas.add(schema, 'output'), examples) },
  };
}

function headersOf(headers: Readonly<Record<string, string>>, required: boolean): JsonObject {
  const described = Object.entries(headers).map(([name, description]) => [
    name,
    { description, required, schema: { type: 'string' } },
  ]);
  return described.length === 0 ? {} : { headers: Object.fromEntries(described) };
}

/** `special`: examples that replace those of the components. */
function media(schema: JsonSchema, special: JsonObject = {}): JsonObject {
  const examples = componentNames(schema)
    .filter((name) => name in special || exampleOf(name) !== undefined)
    .map((name) => [name, special[name] ?? { $ref: `#/components/examples/${name}` }]);
  return { schema, ...(examples.length === 0 ? {} : { examples: Object.fromEntries(examples) }) };
}

/** The content of docs/examples/openapi.json. All examples belong to one small company, and their secrets are not valid anywhere. */
type Examples = {
  readonly components: JsonObject;
  /** By status: one shared response each. */
  readonly refusals: Readonly<Record<string, SharedRefusal>>;
  /** By status: where the OAuth endpoints differ from the shared example, to JSON or to a form. */
  readonly oauthRefusals: Readonly<Record<string, { readonly json?: RefusalExample; readonly form?: RefusalExample }>>;
};

type SharedRefusal = {
  /** Under `components/responses`. */
  readonly name: string;
  readonly description: string;
  /** The header of every such reply. */
  readonly header?: readonly [name: string, description: string];
  readonly example: RefusalExample;
};

/** The content of an error body. The description begins with `field`. */
type RefusalExample = { readonly code: string; readonly description: string; readonly field?: string };

let loaded: Examples | null = null;

function examples(): Examples {
  loaded ??= JSON.parse(readAsset('openapi-examples.json')) as Examples;
  return loaded;
}

/** The example of a component; that of a page is made from the example of its item. Undefined if there is none. */
export function exampleOf(component: string): unknown {
  const { components } = examples();
  if (component in components || !component.endsWith('Page')) return components[component];
  const item = components[component.slice(0, -'Page'.length)];
  return item === undefined ? undefined : { items: [item], nextCursor: null };
}

/** Throws `TypeError` for an undocumented status. */
function sharedRefusal(status: number): SharedRefusal {
  const shared = examples().refusals[status];
  if (shared === undefined) throw new TypeError(`no refusal with status ${status} is described`);
  return shared;
}

/** Every possible status of 400 and above. */
function refusalStatuses({ access, method, path, body, headers, replies, anyMethod }: Route): number[] {
  const named = Object.keys(replies).map(Number);
  const onOneThing = path.includes('{');
  const changes = access === 'guarded' && method !== 'GET' && (onOneThing || named.includes(201));
  const statuses = [
    ...named.filter((status) => status >= 400),
    ...(anyMethod === true ? [] : [400]),
    ...(access === 'guarded' ? [401] : []),
    ...(onOneThing ? [404] : []),
    ...(changes ? [409] : []),
    ...(headers?.['If-Match'] === undefined ? [] : [412]),
    ...(body === undefined ? [] : [408, 413, 415, 429]),
    500,
    503,
  ];
  return [...new Set(statuses)].sort((a, b) => a - b);
}

/** The codes of a status, in CommonMark. */
function codesOf(status: number): string {
  const codes = Object.entries(REFUSAL_STATUS).filter(([, of]) => of === status);
  return codes.map(([code]) => `\`${code}\``).join(', ');
}

/** An error body for a status. */
function errorExample(status: number, { code, description, field }: RefusalExample): unknown {
  return {
    status: String(status),
    timeStamp: '2026-11-21T05:00:00+0000',
    error: {
      errorId: '7f9c24e8-3b12-4fef-91e0-1b7c5d2a6f43',
      message: null,
      code,
      description,
      details: field === undefined ? null : [{ field, problem: description.slice(field.length + 1) }],
    },
  };
}

/** The examples of the OAuth endpoints, by component: the error body, and the body of RFC 6749 §5.2. */
function oauthErrorExamples(status: number, usual: RefusalExample): JsonObject {
  const { json = usual, form = { ...json, code: status < 429 ? 'invalid_request' : json.code } } =
    examples().oauthRefusals[status] ?? {};
  return {
    Error: { value: errorExample(status, json) },
    OAuthError: { value: { error: form.code, error_description: form.description } },
  };
}

const SUMMARY = 'A gate for APIs: access tokens with scopes on the way in, signed webhook deliveries on the way out.';

const LICENSE = { name: 'MIT', identifier: 'MIT' };

const DESCRIPTION = `Get an access token with \`issueToken\` and send it as \`Authorization: Bearer <token>\`. A request needs a scope
of the token, and the user that the application acts as needs the permission of that name; each operation names it.

Instants are ISO 8601 in UTC with milliseconds. Ids are UUIDv7. Unknown fields and query parameters are refused with 400.
Lists are paginated: \`limit\` is the number of items, and \`nextCursor\` of one page is the \`cursor\` of the next.

Errors have the \`Error\` body, whose \`errorId\` is also in the log of the service. The service answers 404 to an unknown path, 405
with \`Allow\` to an unsupported method, 431 to headers that are too large, 501 to a transfer coding other than \`chunked\`, and 505 to
an HTTP version other than 1.0 and 1.1. Later versions may add members to replies.`;

const TAGS: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'oauth', description: 'Access tokens: issued, introspected, revoked, and checked for a proxy.' },
  { name: 'customers', description: 'The customers you serve, and the links that open their portals.' },
  { name: 'applications', description: 'Registered applications: credentials, scopes, and the user they act as.' },
  { name: 'users', description: 'Portal accounts: permissions and constraints.' },
  { name: 'products', description: 'The API catalogue: which request needs which scope.' },
  { name: 'employees', description: 'The employees API: it emits `employee.created` and `employee.updated`.' },
  { name: 'event-types', description: 'The types of events.' },
  { name: 'events', description: 'Publishing and erasing events.' },
  { name: 'endpoints', description: 'Where deliveries are sent, and how they are authenticated.' },
  { name: 'keys', description: 'PGP keys for which deliveries are encrypted.' },
  { name: 'webhooks', description: 'Which events are sent to which endpoint.' },
  { name: 'deliveries', description: 'The delivery of each event to each webhook.' },
  { name: 'audit', description: 'Who changed what.' },
  { name: 'usage', description: 'What customers used, by day.' },
  { name: 'operation', description: 'For monitors, load balancers and client generators.' },
];
