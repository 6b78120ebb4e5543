import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { BUILT_IN_PRODUCTS, BUILT_IN_SCOPES } from '../../src/access/built-in.ts';
import { compileCatalogue, matchRule } from '../../src/domain/catalogue.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import type { Route } from '../../src/http/route.ts';
import { VERSION } from '../../src/kernel/version.ts';
import { createSchemaCheck } from '../support/openapi-check.ts';
import { type ApiDocument, operationNamed, operationsOf, placeOf, placesIn } from '../support/openapi-document.ts';
import { describedOnce, documentOf, PUBLIC_URL, STUB } from '../support/openapi-service.ts';

describe('the document as a whole', () => {
  it('is valid by the official schema of OpenAPI 3.1', async (t) => {
    const { document } = await describedOnce(t);
    assert.match(document.openapi, /^3\.1\./);
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    assert.ok(valid, JSON.stringify(errors));
    const broken = { ...structuredClone(document), info: { title: 'no version' } };
    assert.equal((await new Validator().validate(broken)).valid, false);
  });

  it('contains only valid JSON Schemas (2020-12), which validators can compile', async (t) => {
    const { document } = await describedOnce(t);
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

  it('has no broken reference', async (t) => {
    const { document } = await describedOnce(t);
    let count = 0;
    for (const { value, steps } of placesIn(document)) {
      if (!('$ref' in (value as object))) continue;
      assert.doesNotThrow(() => placeOf(document, steps), steps.join('/'));
      count += 1;
    }
    assert.ok(count > 200, String(count));
  });

  it('has the version and the address of the service', () => {
    const { info, servers, components } = documentOf(STUB);
    assert.equal(info.version, VERSION);
    assert.deepEqual(servers, [{ url: PUBLIC_URL }]);
    const { tokenUrl } = components.securitySchemes.oauth2.flows.clientCredentials;
    assert.equal(tokenUrl, `${PUBLIC_URL}/services/api/oauth2/token`);
  });

  it('has relative addresses while the public one is unknown', () => {
    const document = openApiDocument({ routes: [STUB], publicUrl: '', products: BUILT_IN_PRODUCTS });
    const { servers, components } = document as unknown as ApiDocument;
    assert.deepEqual(servers, [{ url: '/' }]);
    const { tokenUrl } = components.securitySchemes.oauth2.flows.clientCredentials;
    assert.equal(tokenUrl, '/services/api/oauth2/token');
  });

  it('names every scope of the catalogue with its description', () => {
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
  it('are the routes, each with its own name', async (t) => {
    const { document, routes } = await describedOnce(t);
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

  it('have names with a verb', async (t) => {
    const { document } = await describedOnce(t);
    for (const [id, place] of Object.entries(NAMES)) {
      const { method, path } = operationNamed(document, id);
      assert.equal(`${method} ${path}`, place);
    }
  });

  it('leave out a route without a name', () => {
    const { operationId, ...unnamed } = STUB;
    assert.equal(operationId, 'getStub');
    assert.deepEqual(Object.keys(documentOf(STUB, { ...unnamed, path: '/page' }).paths), ['/stub']);
  });

  it('have tags with descriptions', async (t) => {
    const { document } = await describedOnce(t);
    const tags = document.tags.map(({ name }) => name);
    const used = new Set(operationsOf(document).flatMap(({ operation }) => operation.tags));
    assert.deepEqual([...used].sort(), tags.toSorted());
  });

  it('have exactly the parameters of their path', async (t) => {
    const { document } = await describedOnce(t);
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
    const { document } = await describedOnce(t);
    const { operation } = operationNamed(document, 'listDeliveries');
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
      'customerId',
      'eventType',
      'limit',
      'orderingKey',
      'since',
      'state',
      'until',
      'webhookId',
    ]);
  });

  it('describe a reply that is not JSON, and headers, as in the route', () => {
    const replies = {
      200: { description: 'It', schema: z.string(), mediaType: 'text/plain', headers: { 'X-Size': 'How large.' } },
    };
    const { responses } = operationNamed(documentOf({ ...STUB, replies }), 'getStub').operation;
    assert.deepEqual(responses[200], {
      description: 'It',
      headers: { 'X-Size': { description: 'How large.', required: true, schema: { type: 'string' } } },
      content: { 'text/plain': { schema: { type: 'string' } } },
    });
  });
});

/** These names are stable, because clients are generated with them. */
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
  it('is the scope of the rule for guarded operations, and nothing for open ones', async (t) => {
    const { document, routes } = await describedOnce(t);
    const catalogue = compileCatalogue(BUILT_IN_PRODUCTS);
    for (const { method, path, access, operationId, authentication } of routes) {
      const { operation } = operationNamed(document, operationId ?? `of ${method} ${path}`);
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

  it('matches the scopes of the contract', async (t) => {
    const { document } = await describedOnce(t);
    for (const [id, scope] of [
      ['listEventTypes', 'webhooks:view'],
      ['createProduct', 'catalogue:manage'],
      ['replayWebhook', 'deliveries:replay'],
      ['createEmployee', 'employees:create'],
      ['updateEmployee', 'employees:edit'],
      ['introspectToken', 'tokens:introspect'],
    ] as const) {
      const ways = operationNamed(document, id).operation.security.filter((way) => 'oauth2' in way);
      assert.deepEqual(ways, [{ oauth2: [scope] }], id);
    }
  });

  it('of the token endpoint needs credentials, in the body or by Basic', async (t) => {
    const { document } = await describedOnce(t);
    assert.deepEqual(operationNamed(document, 'issueToken').operation.security, [{}, { clientBasic: [] }]);
  });

  it('cannot be determined for a guarded route without a rule', () => {
    assert.throws(() => documentOf({ ...STUB, access: 'guarded' }), /no rule names GET \/stub/);
  });
});
