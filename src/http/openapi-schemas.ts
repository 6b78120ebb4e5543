/** Converts zod schemas to JSON Schema (2020-12) for OpenAPI. A schema with an id becomes a component. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isObject } from '../kernel/validation.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

export type SchemaCollection = {
  /** Returns the schema, or a reference to its component. `input` for requests, `output` for replies. */
  add(schema: z.ZodType, io: 'input' | 'output'): JsonSchema;
  /** The schema of a merge patch: `ThingInput` becomes `ThingPatch`. */
  addPatch(schema: z.ZodType): JsonSchema;
  /** All components so far, by name. */
  components(): Readonly<Record<string, JsonSchema>>;
};

/** `add` throws `TypeError` if two different schemas have the same id. */
export function collectSchemas(): SchemaCollection {
  const components = new Map<string, JsonSchema>();
  const keep = (name: string, schema: JsonSchema): JsonSchema => {
    const known = components.get(name);
    if (known !== undefined && !isDeepStrictEqual(known, schema)) {
      throw new TypeError(`two schemas are called ${name}`);
    }
    components.set(name, schema);
    return { $ref: COMPONENT + name };
  };
  return {
    add: (schema, io) => {
      const { root, named } = convert(schema, io);
      for (const [name, component] of Object.entries(named)) keep(name, component);
      return root;
    },
    addPatch: (schema) => {
      const { root, named } = convert(schema, 'input');
      const id = schema.meta()?.id;
      const { description, ...patch } = patchOf(id === undefined ? root : (named[id] ?? root));
      const described = {
        ...patch,
        description:
          `A merge patch (RFC 7396): absent fields keep their value, null restores the default. ${description ?? ''}`.trim(),
      };
      return id === undefined ? described : keep(id.replace(/(Input|Patch)$/, 'Patch'), described);
    },
    components: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** The component of a schema, or of each branch of a union. */
export function componentNames({ $ref, anyOf }: JsonSchema): string[] {
  if (typeof $ref === 'string') return [$ref.slice(COMPONENT.length)];
  return Array.isArray(anyOf) ? anyOf.flatMap((branch: JsonSchema) => componentNames(branch)) : [];
}

const COMPONENT = '#/components/schemas/';

type Converted = { readonly root: JsonSchema; readonly named: Readonly<Record<string, JsonSchema>> };

function convert(schema: z.ZodType, io: 'input' | 'output'): Converted {
  const converted = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => tidy(jsonSchema, io) });
  const relinked = JSON.stringify(converted).replaceAll('"$ref":"#/$defs/', `"$ref":"${COMPONENT}`);
  const described = JSON.parse(relinked, describeDefaults) as JsonSchema & { $defs?: Converted['named'] };
  const { $schema, $defs = {}, ...root } = described;
  return { root, named: $defs };
}

/**
 * A reviver of `JSON.parse` that moves the default of each member of an object into the member's description. openapi-typescript makes a
 * member with the keyword `default` required, in requests too. A query parameter is not a member and keeps the keyword.
 */
function describeDefaults(_: string, value: unknown): unknown {
  if (!isObject(value) || value.type !== 'object' || !isObject(value.properties)) return value;
  const members = Object.entries(value.properties as Readonly<Record<string, JsonSchema>>);
  return { ...value, properties: Object.fromEntries(members.map(([name, member]) => [name, describeDefault(member)])) };
}

function describeDefault(member: JsonSchema): JsonSchema {
  const { default: filledIn, description = '', ...rest } = member;
  if (filledIn === undefined) return member;
  const written = typeof filledIn === 'string' && filledIn !== '' ? filledIn : JSON.stringify(filledIn);
  return { ...rest, description: `${description} Default: \`${written}\`.`.trim() };
}

/** Removes keywords without information, and allows additional members in replies, which later versions may add. */
function tidy(schema: z.core.JSONSchema.BaseSchema, io: 'input' | 'output'): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.format !== undefined) delete schema.pattern;
  if (isDeepStrictEqual(schema.propertyNames, { type: 'string' })) delete schema.propertyNames;
  if (io === 'output' && schema.additionalProperties === false) delete schema.additionalProperties;
}

/** No field is required; optional fields may be null. Lists are replaced as a whole. */
function patchOf(schema: JsonSchema): JsonSchema {
  const { required, properties, anyOf, ...rest } = schema;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return {
    ...rest,
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map((branch: JsonSchema) => patchOf(branch)) } : {}),
    ...(isObject(properties)
      ? {
          properties: Object.fromEntries(
            Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, property]) => [
              name,
              needed.includes(name) ? patchOf(property) : nullable(patchOf(property)),
            ]),
          ),
        }
      : {}),
  };
}

function nullable(schema: JsonSchema): JsonSchema {
  const { type, anyOf } = schema;
  if (Array.isArray(anyOf)) {
    const branches = anyOf as readonly JsonSchema[];
    return branches.some((branch) => branch.type === 'null') ? schema : { ...schema, anyOf: [...branches, NULL] };
  }
  if (Array.isArray(type)) return type.includes('null') ? schema : { ...schema, type: [...type, 'null'] };
  if (typeof type === 'string' && !('enum' in schema) && !('const' in schema))
    return { ...schema, type: [type, 'null'] };
  const { description, ...rest } = schema;
  return { ...(description === undefined ? {} : { description }), anyOf: [rest, NULL] };
}

const NULL: JsonSchema = { type: 'null' };
