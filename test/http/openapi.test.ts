import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { BUILT_IN_PRODUCTS, BUILT_IN_SCOPES } from '../../src/access/built-in.ts';
import { compileCatalogue, matchRule } from '../../src/access/catalogue.ts';
import { type CredentialPrefix, credentialBytes } from '../../src/access/credential.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import { exampleOf } from '../../src/http/openapi-examples.ts';
import type { Route } from '../../src/http/route.ts';
import { VERSION } from '../../src/version.ts';
import { createSchemaCheck } from '../support/openapi-check.ts';
import {
  type ApiDocument,
  type Content,
  type DescribedOperation,
  type Operation,
  operationsOf,
  placeOf,
  placesIn,
} from '../support/openapi-document.ts';
import { startDescribedService } from '../support/openapi-service.ts';

const PUBLIC_URL = 'https://edge.company.example';
const STUB: Route = {
  method: 'GET',
  path: '/stub',
  access: 'open',
  operationId: 'getStub',
  tag: 'operation',
  summary: 'A stub',
  replies: { 200: { description: 'It' } },
  respond: async () => ({ status: 200 }),
};

function documentOf(...routes: readonly Route[]): ApiDocument {
  return openApiDocument({ routes, publicUrl: PUBLIC_URL, products: BUILT_IN_PRODUCTS }) as unknown as ApiDocument;
}

function named(document: ApiDocument, id: string): DescribedOperation {
  const found = operationsOf(document).find(({ operation }) => operation.operationId === id);
  return found ?? assert.fail(`there is no operation ${id}`);
}

/** Everything that a request or a JSON reply of an operation may hold, by where it stands. */
function contentsOf({ requestBody, responses }: Operation, document: ApiDocument): [where: string, content: Content][] {
  const replies = Object.keys(responses).map((status): [string, Content | undefined] => {
    const { $ref } = responses[status] ?? {};
    const name = $ref?.split('/').at(-1) ?? '';
    return [status, $ref === undefined ? responses[status]?.content : document.components.responses[name]?.content];
  });
  return [['request', requestBody?.content] as const, ...replies].flatMap(([where, content]) =>
    content === undefined ? [] : [[where, content]],
  );
}

describe('the document as a whole', () => {
  it('is valid by the official schema of OpenAPI 3.1', async (t) => {
    const { document } = await startDescribedService(t);
    assert.match(document.openapi, /^3\.1\./);
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    assert.ok(valid, JSON.stringify(errors));
    const broken = { ...structuredClone(document), info: { title: 'no version' } };
    assert.equal((await new Validator().validate(broken)).valid, false);
  });

  it('holds valid JSON Schemas of 2020-12 alone, which validators can compile', async (t) => {
    const { document } = await startDescribedService(t);
    const ajv = new Ajv2020({ strict: false });
    const check = createSchemaCheck(document);
    const schemas = placesIn(document).filter(({ steps }) => steps.at(-1) === 'schema' || steps.at(-2) === 'schemas');
    let count = 0;
    for (const { value, steps } of schemas) {
      assert.ok(ajv.validateSchema(value as object), `${steps.join('/')} ${JSON.stringify(ajv.errors)}`);
      check(steps, {});
      count += 1;
    }
    assert.ok(count > 200, String(count));
  });

  it('has no reference that leads nowhere', async (t) => {
    const { document } = await startDescribedService(t);
    let count = 0;
    for (const { value, steps } of placesIn(document)) {
      if (!('$ref' in (value as object))) continue;
      assert.doesNotThrow(() => placeOf(document, steps), steps.join('/'));
      count += 1;
    }
    assert.ok(count > 200, String(count));
  });

  it('says the version and where the service is', () => {
    const { info, servers, components } = documentOf(STUB);
    assert.equal(info.version, VERSION);
    assert.deepEqual(servers, [{ url: PUBLIC_URL }]);
    const { tokenUrl } = components.securitySchemes.oauth2.flows.clientCredentials;
    assert.equal(tokenUrl, `${PUBLIC_URL}/services/api/oauth2/token`);
  });

  it('has addresses relative to its own while the public one is not known', () => {
    const document = openApiDocument({ routes: [STUB], publicUrl: '', products: BUILT_IN_PRODUCTS });
    const { servers, components } = document as unknown as ApiDocument;
    assert.deepEqual(servers, [{ url: '/' }]);
    const { tokenUrl } = components.securitySchemes.oauth2.flows.clientCredentials;
    assert.equal(tokenUrl, '/services/api/oauth2/token');
  });

  it('names every scope of the catalogue with what it is for', () => {
    const { scopes } = documentOf(STUB).components.securitySchemes.oauth2.flows.clientCredentials;
    assert.deepEqual(Object.keys(scopes).sort(), [...BUILT_IN_SCOPES].sort());
    for (const [name, description] of Object.entries(scopes)) assert.notEqual(description, '', name);
  });

  it('refuses two schemas of one name that differ', () => {
    const replying = (path: string, schema: z.ZodType): Route => ({
      ...STUB,
      path,
      replies: { 200: { description: 'It', schema } },
    });
    const thing = z.object({ name: z.string() }).meta({ id: 'Thing' });
    const other = z.object({ name: z.int() }).meta({ id: 'Thing' });
    assert.throws(() => documentOf(replying('/a', thing), replying('/b', other)), /two schemas are called Thing/);
    assert.doesNotThrow(() => documentOf(replying('/a', thing), replying('/b', thing)));
  });
});

describe('the operations', () => {
  it('are the routes, each under a name of its own', async (t) => {
    const { document, routes } = await startDescribedService(t);
    const described = operationsOf(document);
    const ids = described.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^[a-z]+[A-Za-z]+$/);
    const served = routes.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(
      described.map(({ method, path }) => `${method} ${path}`).sort(),
      [...served, 'GET /services/api/openapi.json'].sort(),
    );
  });

  it('have names that say what they do', async (t) => {
    const { document } = await startDescribedService(t);
    for (const [id, place] of Object.entries(NAMES)) {
      const { method, path } = named(document, id);
      assert.equal(`${method} ${path}`, place);
    }
  });

  it('leave out a route without a name', () => {
    const { operationId, ...unnamed } = STUB;
    assert.equal(operationId, 'getStub');
    assert.deepEqual(Object.keys(documentOf(STUB, { ...unnamed, path: '/page' }).paths), ['/stub']);
  });

  it('have tags that are described', async (t) => {
    const { document } = await startDescribedService(t);
    const tags = document.tags.map(({ name }) => name);
    const used = new Set(operationsOf(document).flatMap(({ operation }) => operation.tags));
    assert.deepEqual([...used].sort(), tags.toSorted());
  });

  it('have a parameter for each name in their path, and for no other', async (t) => {
    const { document } = await startDescribedService(t);
    for (const { path, operation } of operationsOf(document)) {
      const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      assert.deepEqual(
        parameters.map(({ name }) => name),
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
        path,
      );
      for (const { required } of parameters) assert.equal(required, true, path);
    }
  });

  it('have the parameters of a query with their schemas', async (t) => {
    const { document } = await startDescribedService(t);
    const { operation } = named(document, 'listDeliveries');
    const parameters = new Map(operation.parameters?.map(({ name, ...parameter }) => [name, parameter]));
    assert.deepEqual(parameters.get('limit'), {
      in: 'query',
      description: 'How many items at most.',
      schema: { default: 50, type: 'integer', minimum: 1, maximum: 200 },
    });
    assert.deepEqual(parameters.get('state')?.schema.enum, ['pending', 'delivered', 'dead', 'discarded']);
    assert.equal(parameters.get('since')?.schema.format, 'date-time');
    assert.deepEqual([...parameters.keys()].sort(), [
      'cursor',
      'eventType',
      'limit',
      'since',
      'state',
      'until',
      'webhookId',
    ]);
  });

  it('take a reply that is not JSON, and headers, as the route says', () => {
    const replies = {
      200: { description: 'It', schema: z.string(), mediaType: 'text/plain', headers: { 'X-Size': 'How large.' } },
    };
    const { responses } = named(documentOf({ ...STUB, replies }), 'getStub').operation;
    assert.deepEqual(responses[200], {
      description: 'It',
      headers: { 'X-Size': { description: 'How large.', required: true, schema: { type: 'string' } } },
      content: { 'text/plain': { schema: { type: 'string' } } },
    });
  });
});

/** Stable: clients are generated with these names. */
const NAMES: Readonly<Record<string, string>> = {
  issueToken: 'POST /services/api/oauth2/token',
  listApplications: 'GET /services/api/x/edge/v1/applications',
  createApplication: 'POST /services/api/x/edge/v1/applications',
  getApplication: 'GET /services/api/x/edge/v1/applications/{id}',
  updateApplication: 'PATCH /services/api/x/edge/v1/applications/{id}',
  deleteApplication: 'DELETE /services/api/x/edge/v1/applications/{id}',
  regenerateApplicationSecret: 'POST /services/api/x/edge/v1/applications/{id}/regenerate-secret',
  createEventType: 'POST /services/api/x/edge/v1/event-types',
  rotateEndpointSecret: 'POST /services/api/x/edge/v1/endpoints/{id}/rotate-secret',
  startWebhook: 'POST /services/api/x/edge/v1/webhooks/{id}/start',
  publishEvents: 'POST /services/api/x/edge/v1/events',
  replaceEmployee: 'PUT /services/api/x/users/v1/employees/{userId}',
};

describe('who may call', () => {
  it('is said of every guarded operation by the scope of its rule, of an open one by none', async (t) => {
    const { document, routes } = await startDescribedService(t);
    const catalogue = compileCatalogue(BUILT_IN_PRODUCTS);
    for (const { method, path, access, operationId, authentication } of routes) {
      const { operation } = named(document, operationId ?? `of ${method} ${path}`);
      const scopes = operation.security.flatMap((way) => Object.values(way).flat());
      if (access === 'guarded') {
        const scope = matchRule(catalogue, method, path)?.scope;
        assert.ok(scope !== undefined, `no rule names ${method} ${path}`);
        assert.deepEqual(operation.security, [{ oauth2: [scope] }, { bearer: [scope] }], path);
        assert.ok(operation.description?.includes(`\`${scope}\``), path);
        assert.ok('401' in operation.responses, path);
      } else if (authentication === undefined) assert.deepEqual(operation.security, [], path);
      else assert.deepEqual([...new Set(scopes)], authentication.scope === undefined ? [] : [authentication.scope]);
    }
  });

  it('is who has the scope that wire.md names', async (t) => {
    const { document } = await startDescribedService(t);
    for (const [id, scope] of [
      ['listEventTypes', 'webhooks:view'],
      ['createProduct', 'catalogue:manage'],
      ['replayWebhook', 'deliveries:replay'],
      ['createEmployee', 'employees:create'],
      ['updateEmployee', 'employees:edit'],
      ['introspectToken', 'tokens:introspect'],
    ] as const) {
      const ways = named(document, id).operation.security.filter((way) => 'oauth2' in way);
      assert.deepEqual(ways, [{ oauth2: [scope] }], id);
    }
  });

  it('of the token endpoint is who has credentials, in the body or by Basic', async (t) => {
    const { document } = await startDescribedService(t);
    assert.deepEqual(named(document, 'issueToken').operation.security, [{}, { clientBasic: [] }]);
  });

  it('cannot be said of a guarded route that no rule names', () => {
    assert.throws(() => documentOf({ ...STUB, access: 'guarded' }), /no rule names GET \/stub/);
  });
});

describe('refusals', () => {
  it('are described with every status that an operation can give', async (t) => {
    const { document } = await startDescribedService(t);
    for (const [id, statuses] of [
      ['listUsers', '200 400 401 500'],
      ['createUser', '201 400 401 408 409 413 415 500'],
      ['getUser', '200 400 401 404 500'],
      ['updateUser', '200 400 401 404 408 409 413 415 500'],
      ['deleteUser', '204 400 401 404 409 500'],
      ['publishEvents', '202 400 401 408 413 415 500'],
      ['issueToken', '200 400 401 408 413 415 429 500'],
      ['getReadiness', '200 400 500 503'],
      ['forwardAuth', '200 401 500'],
    ] as const) {
      assert.equal(Object.keys(named(document, id).operation.responses).join(' '), statuses, id);
    }
  });

  it('name the codes and the headers that they have', () => {
    const { Unauthorized, TooManyRequests, MethodNotAllowed, Conflict } = documentOf(STUB).components.responses;
    assert.match(Unauthorized?.description ?? '', /`unauthorized`, `invalid_token`, `insufficient_scope`/);
    assert.match(Conflict?.description ?? '', /`in_use`/);
    assert.equal(Unauthorized?.headers?.['WWW-Authenticate']?.required, true);
    assert.equal(TooManyRequests?.headers?.['Retry-After']?.required, true);
    assert.equal(MethodNotAllowed?.headers?.Allow?.required, true);
    assert.equal(Conflict?.headers, undefined);
  });

  it('of the token endpoint may come in either dialect', async (t) => {
    const { document } = await startDescribedService(t);
    const { responses } = named(document, 'issueToken').operation;
    for (const status of [400, 413, 415, 429, 500]) {
      assert.deepEqual(responses[status]?.content?.['application/json']?.schema, {
        anyOf: [{ $ref: '#/components/schemas/Error' }, { $ref: '#/components/schemas/OAuthError' }],
      });
    }
    assert.equal(responses[401]?.headers?.['WWW-Authenticate']?.required, false);
    assert.equal(responses[429]?.headers?.['Retry-After']?.required, true);
  });
});

describe('bodies', () => {
  it('of a patch need nothing, take null for what has a default, and leave out what a patch may not name', async (t) => {
    const { document } = await startDescribedService(t);
    const check = createSchemaCheck(document);
    const problems = (name: string, value: unknown) => check(['components', 'schemas', name], value);
    const fine: readonly [string, unknown][] = [
      ['WebhookPatch', {}],
      ['WebhookPatch', { retry: { maxAttempts: null } }],
      ['WebhookPatch', { retry: null, ordered: null, encryptionKeyName: null }],
      ['UserPatch', { role: null, constraints: { divisions: null } }],
      ['EndpointPatch', { oauth: { clientSecret: 'new' } }],
    ];
    for (const [name, value] of fine) assert.deepEqual(problems(name, value), [], JSON.stringify(value));
    const wrong: readonly [string, unknown][] = [
      ['WebhookPatch', { name: null }],
      ['WebhookPatch', { retry: { maxAttempts: 0 } }],
      ['WebhookPatch', { state: 'running' }],
      ['WebhookPatch', { customHeaders: [{ name: 'x-a' }] }],
      ['EndpointPatch', { secret: 'new' }],
      ['EventTypePatch', { name: 'a.b' }],
      ['UserPatch', { role: 'king' }],
    ];
    for (const [name, value] of wrong) assert.notDeepEqual(problems(name, value), [], JSON.stringify(value));
  });

  it('of a patch come as a merge patch or as JSON; of a token request as JSON or as a form', async (t) => {
    const { document } = await startDescribedService(t);
    const schemas = (id: string) =>
      Object.fromEntries(
        Object.entries(named(document, id).operation.requestBody?.content ?? {}).map(([type, { schema }]) => [
          type,
          String(schema.$ref).split('/').at(-1),
        ]),
      );
    assert.deepEqual(schemas('updateUser'), {
      'application/merge-patch+json': 'UserPatch',
      'application/json': 'UserPatch',
    });
    assert.deepEqual(schemas('issueToken'), {
      'application/json': 'TokenRequest',
      'application/x-www-form-urlencoded': 'TokenForm',
    });
    assert.deepEqual(schemas('createUser'), { 'application/json': 'UserInput' });
  });

  it('are required unless the route does without', async (t) => {
    const { document } = await startDescribedService(t);
    assert.equal(named(document, 'createUser').operation.requestBody?.required, true);
    assert.equal(named(document, 'startWebhook').operation.requestBody?.required, false);
    assert.equal(named(document, 'listUsers').operation.requestBody, undefined);
  });

  it('are closed in requests, open to further members in replies', async (t) => {
    const { schemas } = (await startDescribedService(t)).document.components;
    assert.equal(schemas.UserInput?.additionalProperties, false);
    assert.ok(schemas.User !== undefined && !('additionalProperties' in schemas.User));
  });

  it('are components that say what they are', async (t) => {
    const { document } = await startDescribedService(t);
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      assert.ok(typeof schema.description === 'string' && schema.description.length > 5, name);
    }
  });
});

describe('examples', () => {
  it('satisfy their schemas, those of fields and defaults too', async (t) => {
    const { document } = await startDescribedService(t);
    const check = createSchemaCheck(document);
    let count = 0;
    const holds = (steps: readonly string[], value: unknown): void => {
      assert.deepEqual(check(steps, value), [], `${steps.join('/')}: ${JSON.stringify(value)}`);
      count += 1;
    };
    for (const { value, steps } of placesIn(document)) {
      if (steps[0] === 'components' && steps[1] === 'examples') continue;
      const { schema, examples, default: filledIn } = value as Record<string, unknown>;
      if (schema === undefined && Array.isArray(examples)) for (const example of examples) holds(steps, example);
      if (schema === undefined && filledIn !== undefined && 'type' in (value as object)) holds(steps, filledIn);
      if (schema === undefined || examples === undefined) continue;
      for (const name of Object.keys(examples as object)) {
        const { value: example } = placeOf(document, [...steps, 'examples', name]);
        const branch = placeOf(document, ['components', 'schemas', name]);
        holds([...steps, 'schema'], (example as { value: unknown }).value);
        holds(branch.steps, (example as { value: unknown }).value);
      }
    }
    assert.ok(count > 200, String(count));
  });

  it('stand beside every request and every JSON reply that has members', async (t) => {
    const { document } = await startDescribedService(t);
    for (const { operation } of operationsOf(document)) {
      for (const [where, content] of contentsOf(operation, document)) {
        for (const { schema, examples } of Object.values(content)) {
          const isEmpty = JSON.stringify(schema.properties) === '{}';
          const isDocument = operation.operationId === 'getOpenApiDocument' && where === '200';
          const shown = Object.keys(examples ?? {}).length > 0;
          assert.equal(shown, !isEmpty && !isDocument, `${operation.operationId} ${where}`);
        }
      }
    }
  });

  it('of requests are what the service itself takes', async (t) => {
    const { routes } = await startDescribedService(t);
    let count = 0;
    for (const { body } of routes) {
      if (body === undefined || body.types.includes('application/merge-patch+json')) continue;
      for (const schema of [body.schema, ...(body.formSchema === undefined ? [] : [body.formSchema])]) {
        const id = schema.meta()?.id;
        if (id === undefined) continue;
        const { error } = schema.safeParse(exampleOf(id));
        assert.equal(error, undefined, id);
        count += 1;
      }
    }
    assert.ok(count > 15, String(count));
  });

  it('hold no credential that is one', async (t) => {
    const { document } = await startDescribedService(t);
    const credentials = JSON.stringify(document).match(/sp[cst]_\w+/g) ?? [];
    assert.ok(credentials.length > 0);
    for (const credential of credentials) {
      assert.match(credential, /^sp[cst]_Example/);
      assert.equal(credentialBytes(credential.slice(0, 3) as CredentialPrefix, credential), null);
    }
  });
});
