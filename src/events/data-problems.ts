/** Problems of an event's data by the schema of its type, in the words of the API: pure. */
import { type FieldProblem, PROBLEMS_MAX } from '../kernel/refusal.ts';
import { expectation, fieldName, isObject } from '../kernel/validation.ts';

/** Of data about which nothing more is known. */
export const UNSATISFIED = "does not satisfy the event type's schema";

/** The first error that the validator found, with what it judged (its option `verbose`). */
type SchemaError = {
  readonly keyword: string;
  /** The place in the data, as a JSON Pointer. */
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
  /** The value of the keyword, the schema that has it, and the part of the data. */
  readonly schema?: unknown;
  readonly parentSchema?: unknown;
  readonly data?: unknown;
};

/** At least one. If members are missing, all of them, and those beside them whose type is wrong. */
export function dataProblems(error: SchemaError): FieldProblem[] {
  const { keyword, params } = error;
  const path = ['data', ...stepsOf(error.instancePath)];
  const at = (name: unknown, problem: string): FieldProblem => ({ field: fieldName([...path, String(name)]), problem });
  if (keyword === 'required') {
    const absent = missingMembers(error).map((name) => at(name, 'is required'));
    const wrong = wrongMembers(error).map(([name, type]) => at(name, mustBe(type)));
    return [...absent, ...wrong].slice(0, PROBLEMS_MAX);
  }
  if (keyword === 'additionalProperties') return [at(params.additionalProperty, 'is unknown')];
  return [{ field: fieldName(path), problem: problemText(error) }];
}

function missingMembers({ params, parentSchema, data }: SchemaError): unknown[] {
  const required = isObject(parentSchema) && Array.isArray(parentSchema.required) ? parentSchema.required : [];
  const absent = required.filter((name) => isObject(data) && !Object.hasOwn(data, String(name)));
  return absent.length > 0 ? absent : [params.missingProperty];
}

function wrongMembers({ parentSchema, data }: SchemaError): [name: string, type: unknown][] {
  const properties = isObject(parentSchema) && isObject(parentSchema.properties) ? parentSchema.properties : {};
  return Object.entries(properties).flatMap(([name, schema]): [string, unknown][] => {
    if (!isObject(data) || !Object.hasOwn(data, name) || !isObject(schema)) return [];
    return isOfType(data[name], schema.type) ? [] : [[name, schema.type]];
  });
}

/** True for types that JSON Schema does not have: the validator judges them. */
function isOfType(value: unknown, type: unknown): boolean {
  const types = Array.isArray(type) ? type : [type];
  return types.some((one) => IS_OF_TYPE[String(one)]?.(value) ?? true);
}

const IS_OF_TYPE: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  array: Array.isArray,
  object: isObject,
  null: (value) => value === null,
};

function mustBe(type: unknown): string {
  const types = Array.isArray(type) ? type : [type];
  return `must be ${types.map((one) => expectation(String(one))).join(' or ')}`;
}

/** Longer values of `enum` and `const` are not listed. */
const LISTED_LENGTH = 200;

function problemText({ keyword, schema, params: { limit }, message }: SchemaError): string {
  const many = (noun: string): string => `${String(limit)} ${noun}${limit === 1 ? '' : 's'}`;
  switch (keyword) {
    case 'type':
      return mustBe(schema);
    case 'const':
      return oneOf([schema]);
    case 'enum':
      return oneOf(Array.isArray(schema) ? schema : []);
    case 'minLength':
      return `must have at least ${many('character')}`;
    case 'maxLength':
      return `must have at most ${many('character')}`;
    case 'minItems':
      return `must have at least ${many('item')}`;
    case 'maxItems':
      return `must have at most ${many('item')}`;
    case 'minimum':
      return `must be at least ${String(limit)}`;
    case 'maximum':
      return `must be at most ${String(limit)}`;
    case 'exclusiveMinimum':
      return `must be more than ${String(limit)}`;
    case 'exclusiveMaximum':
      return `must be less than ${String(limit)}`;
    default:
      return message ?? UNSATISFIED;
  }
}

function oneOf(values: readonly unknown[]): string {
  const listed = values.map((value) => JSON.stringify(value)).join(' or ');
  return listed.length > LISTED_LENGTH ? 'is none of the allowed values' : `must be ${listed}`;
}

/** The steps of a JSON Pointer (RFC 6901); digits are taken for the index of a list, as nearly always. */
function stepsOf(pointer: string): (string | number)[] {
  const names = pointer.split('/').slice(1);
  return names.map((name) =>
    /^\d{1,9}$/.test(name) ? Number(name) : name.replaceAll('~1', '/').replaceAll('~0', '~'),
  );
}
