import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CredentialPrefix, credentialBytes } from '../../src/domain/credential.ts';
import { exampleOf } from '../../src/http/openapi.ts';
import { createSchemaCheck } from '../support/openapi-check.ts';
import {
  type ApiDocument,
  type Content,
  type Operation,
  operationNamed,
  operationsOf,
  placeOf,
  placesIn,
} from '../support/openapi-document.ts';
import { describedOnce, documentOf, STUB } from '../support/openapi-service.ts';

/** All media of requests and JSON replies of an operation, by place. */
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

describe('refusals', () => {
  it('are described with every status that an operation can give', async (t) => {
    const { document } = await describedOnce(t);
    for (const [id, statuses] of [
      ['listUsers', '200 400 401 500 503'],
      ['createUser', '201 400 401 408 409 413 415 429 500 503'],
      ['getUser', '200 304 400 401 404 500 503'],
      ['updateUser', '200 400 401 404 408 409 412 413 415 429 500 503'],
      ['deleteUser', '204 400 401 404 409 412 500 503'],
      ['publishEvents', '202 400 401 408 409 413 415 429 500 503'],
      ['issueToken', '200 400 401 408 413 415 429 500 503'],
      ['getReadiness', '200 400 500 503'],
      ['forwardAuth', '200 401 500 503'],
    ] as const) {
      assert.equal(Object.keys(operationNamed(document, id).operation.responses).join(' '), statuses, id);
    }
  });

  it('name the codes and the headers that they have', () => {
    const { Unauthorized, TooManyRequests, Conflict } = documentOf(STUB).components.responses;
    assert.match(Unauthorized?.description ?? '', /`unauthorized`, `invalid_token`, `insufficient_scope`/);
    assert.match(Conflict?.description ?? '', /`in_use`/);
    assert.equal(Unauthorized?.headers?.['WWW-Authenticate']?.required, true);
    assert.equal(TooManyRequests?.headers?.['Retry-After']?.required, true);
    assert.equal(Conflict?.headers, undefined);
  });

  it('of the token endpoint have both formats', async (t) => {
    const { document } = await describedOnce(t);
    const { responses } = operationNamed(document, 'issueToken').operation;
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
  it('of a patch require nothing, accept null for optional fields, and lack fields that cannot change', async (t) => {
    const { document } = await describedOnce(t);
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

  it('of a patch are merge patches or JSON; of a token request JSON or a form', async (t) => {
    const { document } = await describedOnce(t);
    const schemas = (id: string) =>
      Object.fromEntries(
        Object.entries(operationNamed(document, id).operation.requestBody?.content ?? {}).map(([type, { schema }]) => [
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

  it('are required unless the route makes them optional', async (t) => {
    const { document } = await describedOnce(t);
    assert.equal(operationNamed(document, 'createUser').operation.requestBody?.required, true);
    assert.equal(operationNamed(document, 'startWebhook').operation.requestBody?.required, false);
    assert.equal(operationNamed(document, 'listUsers').operation.requestBody, undefined);
  });

  it('are closed in requests, open to further members in replies', async (t) => {
    const { schemas } = (await describedOnce(t)).document.components;
    assert.equal(schemas.UserInput?.additionalProperties, false);
    assert.ok(schemas.User !== undefined && !('additionalProperties' in schemas.User));
  });

  it('are components with descriptions', async (t) => {
    const { document } = await describedOnce(t);
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      assert.ok(typeof schema.description === 'string' && schema.description.length > 5, name);
    }
  });
});

describe('examples', () => {
  it('satisfy their schemas, also for fields and defaults', async (t) => {
    const { document } = await describedOnce(t);
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

  it('exist for every request and every JSON reply with members', async (t) => {
    const { document } = await describedOnce(t);
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

  it('of requests are accepted by the service itself', async (t) => {
    const { routes } = await describedOnce(t);
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

  it('contain no valid credential', async (t) => {
    const { document } = await describedOnce(t);
    const credentials = JSON.stringify(document).match(/sp[cst]_\w+/g) ?? [];
    assert.ok(credentials.length > 0);
    for (const credential of credentials) {
      assert.match(credential, /^sp[cst]_Example/);
      assert.equal(credentialBytes(credential.slice(0, 3) as CredentialPrefix, credential), null);
    }
  });
});
