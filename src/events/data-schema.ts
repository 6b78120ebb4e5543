/** The JSON Schemas of event types: checking a schema, and checking data against it. */
import { createContext, Script } from 'node:vm';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { EVENT_TYPE_SCHEMAS_CACHED, SCHEMA_CHECK_MS, SCHEMA_COMPILE_MS } from '../kernel/limits/limits.ts';
import { createLru } from '../kernel/lru.ts';
import { type FieldProblem, refuseField } from '../kernel/refusal.ts';
import { fieldName } from '../kernel/validation.ts';
import type { EventType } from './event-type.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

export type DataSchemas = {
  /** Throws a refusal of `dataSchema` that gives the reason. */
  refuseInvalid(schema: JsonSchema): void;
  /**
   * The first problem of each, or null. A check that takes too long is a problem too, because the size of a schema does not bound its
   * work. The checks after it are skipped.
   */
  problemsOf(checks: readonly DataCheck[]): (FieldProblem | null)[];
};

export type DataCheck = {
  readonly eventType: Pick<EventType, 'id' | 'updatedAt'>;
  readonly schema: JsonSchema;
  readonly data: unknown;
};

/** By `$schema`; the first without it. Most schemas in use are of the second. */
const DIALECTS: ReadonlyMap<string, typeof Ajv | typeof Ajv2020> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', Ajv2020],
  ['http://json-schema.org/draft-07/schema', Ajv],
]);

/** Compiled validators are kept per version of their event type, a bounded number of them. `format` is not checked. */
export function createDataSchemas(): DataSchemas {
  const compiled = createLru<string, ValidateFunction>({ max: EVENT_TYPE_SCHEMAS_CACHED });
  const validatorOf = ({ id, updatedAt }: DataCheck['eventType'], schema: JsonSchema): ValidateFunction => {
    const version = `${id} ${updatedAt}`;
    const validator = compiled.get(version) ?? compile(schema);
    compiled.set(version, validator);
    return validator;
  };
  return {
    refuseInvalid: (schema) => {
      // The library's own extension: such a validator answers with a promise, which would pass for yes.
      if ('$async' in schema) throw refuseField('dataSchema', 'must not hold $async');
      if (dialectOf(schema) === undefined)
        throw refuseField('dataSchema.$schema', `must be ${[...DIALECTS.keys()].join(' or ')}`);
      let inTime: boolean;
      try {
        inTime = endsWithin(SCHEMA_COMPILE_MS, () => void compile(schema));
      } catch (error) {
        const why = error instanceof Error ? error.message.slice(0, 300) : '';
        throw refuseField('dataSchema', `is not a JSON Schema: ${why}`);
      }
      if (!inTime) throw refuseField('dataSchema', `takes more than ${SCHEMA_COMPILE_MS} ms to be compiled`);
    },
    problemsOf: (checks) => {
      if (checks.length === 0) return [];
      const validators = checks.map(({ eventType, schema }) => validatorOf(eventType, schema));
      const problems: (FieldProblem | null)[] = [];
      const inTime = endsWithin(SCHEMA_CHECK_MS, () => {
        for (const [at, { data }] of checks.entries()) problems.push(problemOf(validators[at], data));
      });
      return inTime ? problems : [...problems, TOO_SLOW, ...checks.slice(problems.length + 1).map(() => null)];
    },
  };
}

const TOO_SLOW: FieldProblem = {
  field: 'data',
  problem: `takes more than ${SCHEMA_CHECK_MS} ms to be checked against the event type's schema`,
};

function problemOf(validator: ValidateFunction | undefined, data: unknown): FieldProblem | null {
  if (validator === undefined || validator(data)) return null;
  const [error] = validator.errors ?? [];
  return {
    field: fieldName(['data', ...steps(error?.instancePath ?? '')]),
    problem: error?.message ?? "does not satisfy the event type's schema",
  };
}

function dialectOf({ $schema }: JsonSchema): typeof Ajv | typeof Ajv2020 | undefined {
  // The empty fragment that draft-07's own name ends in says nothing.
  return $schema === undefined ? Ajv2020 : DIALECTS.get(String($schema).replace(/#$/, ''));
}

function compile(schema: JsonSchema): ValidateFunction {
  const Dialect = dialectOf(schema) ?? Ajv2020;
  return new Dialect({ strict: false, validateFormats: false }).compile(schema);
}

/** The steps of a JSON Pointer (RFC 6901); digits are taken for the index of a list, as nearly always. */
function steps(pointer: string): (string | number)[] {
  const names = pointer.split('/').slice(1);
  return names.map((name) =>
    /^\d{1,9}$/.test(name) ? Number(name) : name.replaceAll('~1', '/').replaceAll('~0', '~'),
  );
}

// The context only carries the time limit. `work` is the caller's own function and sees the caller's own globals.
const context: { work: (() => void) | null } = { work: null };
const script = new Script('work()');
createContext(context);

/**
 * Runs `work` and tells whether it ended within the limit. This bounds a regular expression that backtracks, for example. It costs 0.1 to
 * 0.3 ms, because a thread keeps the time.
 */
function endsWithin(limitMs: number, work: () => void): boolean {
  context.work = work;
  try {
    script.runInContext(context, { timeout: limitMs });
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw error;
  } finally {
    context.work = null;
  }
}
