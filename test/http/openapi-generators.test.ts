/** Requirements of client generators on the whole document. test/http/openapi-clients.slow.test.ts runs two of them. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type ApiDocument, operationsOf, placeOf, placesIn, type Schema } from '../support/openapi-document.ts';
import { startService } from '../support/service.ts';

/** The document with every route of the service. */
async function servedDocument(t: TestContext): Promise<ApiDocument> {
  const { url } = await startService(t);
  const response = await fetch(`${url}/services/api/openapi.json`);
  return (await response.json()) as ApiDocument;
}

function reference({ $ref }: Schema): string[] {
  return typeof $ref === 'string' ? [$ref] : [];
}

/** Every reference in `part`, and in the components that it refers to. */
function referencesOf(document: ApiDocument, part: object, found = new Set<string>()): Set<string> {
  for (const { value } of placesIn(part)) {
    for (const $ref of reference(value as Schema)) {
      if (found.has($ref)) continue;
      found.add($ref);
      const { value: component } = placeOf(document, $ref.slice('#/'.length).split('/'));
      referencesOf(document, component as object, found);
    }
  }
  return found;
}

/** The names of the types that a generator makes of an inline schema, such as `CustomerLimits` of `Customer` and `limits`. */
function typeNames(schema: Schema, name: string): string[] {
  if ('$ref' in schema) return [];
  const { properties, items, additionalProperties, anyOf } = schema as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly items?: Schema;
    readonly additionalProperties?: Schema | boolean;
    readonly anyOf?: readonly Schema[];
  };
  const isType = properties !== undefined || 'enum' in schema;
  const branches = (anyOf ?? []).filter(({ type }) => type !== 'null');
  return [
    ...(isType ? [name] : []),
    ...Object.entries(properties ?? {}).flatMap(([member, inside]) => typeNames(inside, joined(name, member))),
    ...(items === undefined ? [] : typeNames(items, `${name}Item`)),
    ...(typeof additionalProperties === 'object' ? typeNames(additionalProperties, `${name}AdditionalProperty`) : []),
    // Some generators name the only branch beside null like the member, and others number it.
    ...(branches.length === 1 ? typeNames(branches[0] as Schema, name) : []),
    ...branches.flatMap((branch, at) => typeNames(branch, `${name}Type${at}`)),
  ];
}

function joined(name: string, member: string): string {
  const words = member.split(/[^A-Za-z0-9]+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
  return name + words.join('');
}

/** The names that occur twice. Names of files may not differ in case only. */
function repeatedIn(names: readonly string[]): string[] {
  const lower = names.map((name) => name.toLowerCase());
  return names.filter((_, at) => lower.indexOf(lower[at] as string) < at);
}

/** The type names of the components and of the inline schemas of operations. */
function allTypeNames({ components, ...document }: ApiDocument): string[] {
  const operations = operationsOf({ components, ...document }).flatMap(({ operation }) => [
    ...(operation.parameters ?? []).flatMap(({ name, schema }) =>
      typeNames(schema, joined(joined('', operation.operationId), name)),
    ),
    ...placesIn({ body: operation.requestBody, responses: operation.responses })
      .filter(({ steps }) => steps.at(-1) === 'schema')
      .flatMap(({ value, steps }) => typeNames(value as Schema, joined(operation.operationId, steps.join('-')))),
  ]);
  return [...Object.entries(components.schemas).flatMap(([name, schema]) => typeNames(schema, name)), ...operations];
}

describe('generators of clients', () => {
  it('make a different name of each type, inline or not', async (t) => {
    const document = await servedDocument(t);
    const names = allTypeNames(document);
    for (const name of ['Customer', 'CustomerInput', 'WebhookRetry', 'ListWebhooksSort'])
      assert.ok(names.includes(name), name);
    assert.deepEqual(repeatedIn(names), []);
    const inline = { type: 'object', properties: { limits: { type: 'object', properties: {} } } };
    const { CustomerLimits, Customer } = { CustomerLimits: inline.properties.limits, Customer: inline };
    const colliding = { ...document, components: { ...document.components, schemas: { CustomerLimits, Customer } } };
    assert.deepEqual(repeatedIn(allTypeNames(colliding)), ['CustomerLimits']);
  });

  it('find a use of each component', async (t) => {
    const document = await servedDocument(t);
    const used = referencesOf(document, document.paths);
    const { securitySchemes, ...components } = document.components;
    const all = Object.entries(components).flatMap(([kind, of]) =>
      Object.keys(of).map((name) => `#/components/${kind}/${name}`),
    );
    assert.ok(all.length > 150, String(all.length));
    assert.deepEqual(
      all.filter(($ref) => !used.has($ref)),
      [],
    );
    const schemes = operationsOf(document).flatMap(({ operation }) => operation.security.flatMap(Object.keys));
    assert.deepEqual([...new Set(schemes)].sort(), Object.keys(securitySchemes).sort());
  });

  it('find defaults of members in descriptions, because openapi-typescript requires members with `default`', async (t) => {
    const document = await servedDocument(t);
    const withDefault = placesIn(document).filter(
      ({ value, steps }) => 'default' in (value as object) && steps[0] === 'components',
    );
    assert.deepEqual(withDefault, []);
    const { WebhookInput, WebhookPatch, ProductInput } = document.components.schemas;
    const members = (schema: Schema | undefined) => schema?.properties as Readonly<Record<string, Schema>>;
    for (const schema of [WebhookInput, WebhookPatch]) {
      assert.match(String(members(schema).mode?.description), /\. Default: `push`\.$/);
      assert.equal(members(schema).timeoutSeconds?.description, 'Default: `15`.');
      assert.match(String(members(members(schema).retry).maxAttempts?.description), / Default: `20`\.$/);
    }
    const scope = members(ProductInput).scopes?.items as Schema;
    assert.equal(members(scope).description?.description, 'Default: `""`.');
    const { parameters = [] } = document.paths['/services/api/x/edge/v1/webhooks']?.get ?? {};
    assert.equal(parameters.find(({ name }) => name === 'limit')?.schema.default, 50);
  });
});
