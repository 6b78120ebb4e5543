/** The parts of an OpenAPI 3.1 document that pages read, and the phrases for its schemas. */
import { UUID_V7 } from '../kernel/ids.ts';

export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};

type Example = { readonly $ref?: string; readonly value?: unknown };

export type Content = Readonly<
  Record<string, { readonly schema: Schema; readonly examples?: Readonly<Record<string, Example>> }>
>;

export type ApiResponse = { readonly $ref?: string; readonly description?: string; readonly content?: Content };

export type ApiParameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly schema: Schema;
};

export type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly ApiParameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, ApiResponse>>;
  readonly 'x-any-method'?: boolean;
};

export type ApiDocument = {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, ApiResponse>>;
    readonly examples?: Readonly<Record<string, Example>>;
  };
};

type Member = {
  /** A member of a nested object has the whole path: `oauth.clientId`. */
  readonly path: string;
  readonly schema: Schema;
  readonly isOptional: boolean;
};

/** The members of an object, those of nested objects after it. */
export function membersOf({ properties = {}, required = [] }: Schema, prefix = ''): Member[] {
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = `${prefix}${name}`;
    return [
      { path, schema: member, isOptional: !required.includes(name) },
      ...nestedOf(member).flatMap(({ schema, suffix }) => membersOf(schema, `${path}${suffix}.`)),
    ];
  });
}

/** A phrase such as `string (uuid)`, `list of string`, or a link to another schema, with bounds. In Markdown. */
export function phraseOf(schema: Schema): string {
  if (schema.$ref !== undefined) return linkTo(schema.$ref);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return unique(choices.map(phraseOf)).join(' or ');
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) return unique(schema.enum.map(code)).join(', ');
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  const names = types.map((type) => (type === 'array' ? `list of ${phraseOf(schema.items ?? {})}` : type));
  const phrase = names.length === 0 ? 'any' : names.join(' or ');
  const bounds = boundsOf(schema);
  return bounds.length === 0 ? phrase : `${phrase} (${bounds.join(', ')})`;
}

/** The name of the component that a reference leads to. */
export function refName($ref: string): string {
  return $ref.split('/').at(-1) ?? '';
}

/** The nested objects of a member, without the ones that it refers to by `$ref`. */
function nestedOf(schema: Schema): { readonly schema: Schema; readonly suffix: string }[] {
  if (schema.$ref !== undefined) return [];
  if (schema.properties !== undefined) return [{ schema, suffix: '' }];
  if (schema.items !== undefined)
    return nestedOf(schema.items).map((item) => ({ ...item, suffix: `[]${item.suffix}` }));
  return (schema.anyOf ?? schema.oneOf ?? []).flatMap(nestedOf);
}

function boundsOf(schema: Schema): string[] {
  const { format, minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems, pattern } = schema;
  return [
    ...(format === undefined ? [] : [format]),
    ...rangeOf(exclusiveMinimum === undefined ? minimum : `over ${exclusiveMinimum}`, safe(maximum), ''),
    ...rangeOf(minLength, maxLength, ' characters'),
    ...rangeOf(minItems, maxItems, ' items'),
    ...(pattern === undefined || format !== undefined ? [] : patternText(pattern)),
  ];
}

/** Nobody reads a long pattern: the document has it. */
const PATTERN_SHOWN_MAX = 28;

function patternText(pattern: string): string[] {
  if (pattern === UUID_V7.source) return ['uuid'];
  return pattern.length > PATTERN_SHOWN_MAX ? [] : [code(pattern)];
}

/** Omits the largest safe integer, which is not a bound of the product. */
function safe(maximum: number | undefined): number | undefined {
  return maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
}

function rangeOf(from: number | string | undefined, to: number | undefined, unit: string): string[] {
  if (from === undefined && to === undefined) return [];
  if (from === to) return [`${from}${unit}`];
  if (to === undefined) return [typeof from === 'string' ? `${from}${unit}` : `at least ${from}${unit}`];
  return from === undefined ? [`at most ${to}${unit}`] : [`${from}–${to}${unit}`];
}

function linkTo($ref: string): string {
  const name = refName($ref);
  return `[${name}](#${name.toLowerCase()})`;
}

function code(value: unknown): string {
  return `\`${JSON.stringify(value)?.replace(/^"(.*)"$/, '$1')}\``;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
