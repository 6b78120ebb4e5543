/** The parts of an OpenAPI document that tests read. */
import assert from 'node:assert/strict';

export type Schema = { readonly [keyword: string]: unknown };

type Example = { readonly $ref?: string; readonly value?: unknown };

type Media = { readonly schema: Schema; readonly examples?: Readonly<Record<string, Example>> };

export type Content = Readonly<Record<string, Media>>;

type Header = { readonly description: string; readonly required?: boolean; readonly schema: Schema };

export type Response = {
  readonly $ref?: string;
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Content;
};

type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description: string;
  readonly schema: Schema;
};

export type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
  /** Whether the operation answers every method. */
  readonly 'x-any-method'?: boolean;
};

export type ApiDocument = {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: {
      readonly oauth2: { readonly flows: { readonly clientCredentials: TokenFlow } };
    };
  };
};

type TokenFlow = { readonly tokenUrl: string; readonly scopes: Readonly<Record<string, string>> };

export type DescribedOperation = { readonly method: string; readonly path: string; readonly operation: Operation };

/** Every operation in the order of the document, with its method in upper case. */
export function operationsOf({ paths }: ApiDocument): DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, operation]) => ({ method: verb.toUpperCase(), path, operation })),
  );
}

/** Returns the operation with this id. Fails if there is none. */
export function operationNamed(document: ApiDocument, id: string): DescribedOperation {
  const found = operationsOf(document).find(({ operation }) => operation.operationId === id);
  return found ?? assert.fail(`there is no operation ${id}`);
}

/** A part of the document and the reference tokens of its JSON Pointer (RFC 6901). */
export type Place = { readonly value: unknown; readonly steps: readonly string[] };

/** Returns the place at `steps`. If it is a reference, returns the place it refers to. Throws if there is no such place. */
export function placeOf(document: object, steps: readonly string[]): Place {
  let value: unknown = document;
  for (const step of steps) {
    const holder = value as Record<string, unknown> | null | undefined;
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, step)) {
      throw new Error(`nothing is at #/${steps.join('/')}`);
    }
    value = holder[step];
  }
  const { $ref } = (value ?? {}) as { readonly $ref?: unknown };
  return typeof $ref === 'string' ? placeOf(document, stepsOf($ref)) : { value, steps };
}

/** The examples of the body, as the document has them; one undefined without a body. */
export function bodiesOf(document: ApiDocument, { requestBody }: Pick<Operation, 'requestBody'>): unknown[] {
  const { examples = {} } = requestBody?.content['application/json'] ?? {};
  const values = Object.values(examples).map((example) =>
    example.$ref === undefined
      ? example.value
      : (placeOf(document, example.$ref.slice(2).split('/')).value as { value: unknown }).value,
  );
  return values.length > 0 ? values : [undefined];
}

/** Every object and list in the document with its place. Does not follow references. */
export function placesIn(value: unknown, steps: readonly string[] = []): Place[] {
  if (value === null || typeof value !== 'object') return [];
  const inside = Object.entries(value).flatMap(([step, member]) => placesIn(member, [...steps, step]));
  return [{ value, steps }, ...inside];
}

function stepsOf($ref: string): string[] {
  const steps = $ref.slice('#/'.length).split('/');
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
