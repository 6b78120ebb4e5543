/**
 * Reads the input of administered resources. Each interface (HTTP, portal, command line, embedding program) parses the input of its
 * callers, and use cases take the typed result.
 */
import { z } from 'zod';
import { mergePatch, refuseDeep, refusePatch, validate } from '../kernel/validation.ts';

/** A merge patch (RFC 7396) of `Body`. Null removes a value, which an optional field and a member of a record allow. */
export type MergePatch<Body> = unknown extends Body
  ? unknown
  : Body extends readonly unknown[]
    ? Body
    : Body extends object
      ? { readonly [Field in keyof Body]?: PatchValue<Body[Field]> | (string extends Field ? null : never) }
      : Body;
type PatchValue<Value> = undefined extends Value ? MergePatch<Exclude<Value, undefined>> | null : MergePatch<Value>;

/** The input type of a schema, deeply read-only. */
export type BodyOf<Schema extends z.ZodType> = Unchanging<z.input<Schema>>;
type Unchanging<Value> = Value extends object ? { readonly [Name in keyof Value]: Unchanging<Value[Name]> } : Value;

/**
 * `Body` is what a caller may send; `Input` is the same with defaults filled in. Each function throws a `Refusal` that names the fields.
 */
export type InputReader<Body, Input> = {
  /** Documents the body in OpenAPI. */
  readonly schema: z.ZodType;
  /** Reads the body of a creation. */
  create(body: unknown): Input;
  /** Reads a merge patch. Its values are checked by `apply`, together with the rest of the record. */
  patch(body: unknown): MergePatch<Body>;
  /** Applies a patch to `target`, the body that would create the record as it is now. */
  apply(target: Body, patch: MergePatch<Body>): Input;
};

/**
 * `view` is what callers read. Fields that are in `view` and not in `schema` are set by the service, and are refused with that reason.
 * `onPatch` gives the reason for fields that a patch may not name.
 */
export function inputReader<Body, Input>(
  schema: z.ZodType<Input, Body>,
  view: z.ZodObject,
  onPatch: Readonly<Record<string, string>> = {},
): InputReader<Unchanging<Body>, Input> {
  const taken = schema instanceof z.ZodObject ? schema.shape : {};
  const reserved = Object.fromEntries(
    Object.keys(view.shape).flatMap((field) => (field in taken ? [] : [[field, 'is set by the service']])),
  );
  return {
    schema,
    create: (body) => {
      refuseDeep(body);
      return validate(schema, body, reserved);
    },
    patch: (body) => {
      refusePatch(schema, body, { ...reserved, ...onPatch });
      return body as MergePatch<Unchanging<Body>>;
    },
    apply: (target, patch) => validate(schema, mergePatch(target, patch)),
  };
}

/** The defaults of a schema and of its members: the initial values of a new form. */
export function defaultsOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodDefault) return schema.def.defaultValue ?? defaultsOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return defaultsOf(schema.unwrap() as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return undefined;
  return Object.fromEntries(Object.entries(schema.shape).map(([name, member]) => [name, defaultsOf(member)]));
}
