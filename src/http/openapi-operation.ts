/** One route as an operation of the OpenAPI document. */
import type { z } from 'zod';
import { errorBodySchema } from './error-body.ts';
import { exampleOf } from './openapi-examples.ts';
import { codesOf, errorExample, oauthErrorExamples, refusalStatuses, sharedRefusal } from './openapi-refusals.ts';
import { componentNames, type JsonSchema, type SchemaCollection } from './openapi-schemas.ts';
import type { BodyRule, ReplyDescription, Route } from './route.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** `scope` is what the catalogue asks for; null on an open route. */
export function operationOf(route: Route, scope: string | null, schemas: SchemaCollection): JsonObject {
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

/** A refusal that many operations share, for `components/responses`. */
export function sharedResponse(status: number, schemas: SchemaCollection): JsonObject {
  return refusalResponse(status, {}, schemas);
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

/** A description beside a reference takes the place of the shared one (OpenAPI 3.1). */
function sharedRef(status: number, reply: ReplyDescription | undefined): JsonObject {
  const $ref = `#/components/responses/${sharedRefusal(status).name}`;
  return reply === undefined ? { $ref } : { $ref, description: reply.description };
}

function replyResponse(status: number, reply: ReplyDescription, schemas: SchemaCollection): JsonObject {
  const { description, schema, mediaType = 'application/json', headers = {} } = reply;
  const all = status === 201 ? { Location: 'Where it is from now on.', ...headers } : headers;
  return {
    description,
    ...headersOf(all, true),
    ...(schema === undefined ? {} : { content: { [mediaType]: media(schemas.add(schema, 'output')) } }),
  };
}

type Refused = Partial<ReplyDescription> & {
  /** Every body that a refusal of the route may have, where those are not only error bodies. */
  readonly bodies?: z.ZodType | undefined;
};

function refusalResponse(status: number, reply: Refused, schemas: SchemaCollection): JsonObject {
  const shared = sharedRefusal(status);
  const { description = shared.description, schema = reply.bodies ?? errorBodySchema, headers = {} } = reply;
  const [header, meaning] = shared.header ?? [];
  const oauth = reply.bodies !== undefined;
  // A client that sent its credentials in a body is told of no scheme.
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

/** `special` are examples that take the place of the component's own. */
function media(schema: JsonSchema, special: JsonObject = {}): JsonObject {
  const examples = componentNames(schema)
    .filter((name) => name in special || exampleOf(name) !== undefined)
    .map((name) => [name, special[name] ?? { $ref: `#/components/examples/${name}` }]);
  return { schema, ...(examples.length === 0 ? {} : { examples: Object.fromEntries(examples) }) };
}
