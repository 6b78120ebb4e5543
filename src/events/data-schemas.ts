/** Checks the data of events with the JSON Schemas of their types, each within a bound in time. */

import { createContext, Script } from 'node:vm';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { EventType } from '../domain/event.ts';
import { LARGE_JSON_BYTES, parsing } from '../kernel/json-parts.ts';
import { createLru } from '../kernel/lru.ts';
import { type FieldProblem, refuseField } from '../kernel/refusal.ts';
import { SLICE_MS, type Work } from '../kernel/slices.ts';
import { dataProblems, UNSATISFIED } from './data-problems.ts';
import { EVENT_TYPE_SCHEMAS_CACHED } from './limits.ts';

/**
 * Time limits for compiling a schema, for validating all events of one request, and for validating one event. Compiling and validating one
 * event block the event loop.
 */
const SCHEMA_COMPILE_MS = 2000;

const SCHEMA_CHECK_MS = 500;

export const SCHEMA_EVENT_MS = 75;

/** Checks of an event that take too long before it is refused. */
const SCHEMA_TRIES = 3;

type JsonSchema = Readonly<Record<string, unknown>>;

/** The JSON Schemas of event types. */
export type DataSchemas = {
  /** Throws a refusal of `dataSchema` that gives the reason. */
  refuseInvalid(schema: JsonSchema): void;
  /** The problems of `data` by a schema of no stored event type. */
  problemsOfOne(schema: JsonSchema, data: unknown): readonly FieldProblem[];
  /**
   * The problems of each: one, or all missing members and those beside them. A check that takes too long is a problem too, because the
   * size of a schema does not bound its work: one check, or all of them together. The checks after it are skipped.
   */
  problemsOf(checks: readonly DataCheck[]): Work<(readonly FieldProblem[])[]>;
};

export type DataCheck = {
  readonly eventType: Pick<EventType, 'id' | 'updatedAt'>;
  readonly schema: JsonSchema;
  readonly dataJson: string;
};

/** Throws if it is not a schema of the dialect. */
type Compile = (schema: JsonSchema) => ValidateFunction;

const OPTIONS = { strict: false, validateFormats: false, verbose: true } as const;

/**
 * One instance checks all schemas of a dialect, because it compiles the schema of schemas, which takes 30 ms. It does so before a time
 * limit may interrupt it. An instance keeps what it compiles, so each schema gets one of its own.
 */
function createCompile(Dialect: typeof Ajv | typeof Ajv2020): Compile {
  const checker = new Dialect(OPTIONS);
  checker.validateSchema({}, true);
  return (schema) => {
    checker.validateSchema(schema, true);
    return new Dialect({ ...OPTIONS, validateSchema: false }).compile(schema);
  };
}

/** Creates it when a schema first needs it. */
function lazily(Dialect: typeof Ajv | typeof Ajv2020): () => Compile {
  let compile: Compile | null = null;
  return () => {
    compile ??= createCompile(Dialect);
    return compile;
  };
}

const newest = lazily(Ajv2020);

/** By `$schema`; the first without it. Most schemas in use are of the second. */
const DIALECTS: ReadonlyMap<string, () => Compile> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', newest],
  ['http://json-schema.org/draft-07/schema', lazily(Ajv)],
]);

/** Compiled validators are kept per version of their event type, a bounded number of them. `format` is not checked. */
export function createDataSchemas(): DataSchemas {
  const compiled = createLru<string, ValidateFunction>({ max: EVENT_TYPE_SCHEMAS_CACHED });
  const validatorOf = ({ id, updatedAt }: DataCheck['eventType'], schema: JsonSchema): ValidateFunction => {
    const version = `${id} ${updatedAt}`;
    const validator = compiled.get(version) ?? compilerOf(schema)(schema);
    compiled.set(version, validator);
    return validator;
  };
  return {
    refuseInvalid: (schema) => {
      // An extension of the library: such a validator returns a promise, which would count as true.
      if ('$async' in schema) throw refuseField('dataSchema', 'must not hold $async');
      const compile = dialectOf(schema)?.();
      if (compile === undefined)
        throw refuseField('dataSchema.$schema', `must be ${[...DIALECTS.keys()].join(' or ')}`);
      let inTime: boolean;
      try {
        inTime = endsInTries(SCHEMA_COMPILE_MS, () => void compile(schema));
      } catch (error) {
        const why = error instanceof Error ? error.message.slice(0, 300) : '';
        throw refuseField('dataSchema', `is not a JSON Schema: ${why}`);
      }
      if (!inTime) throw refuseField('dataSchema', `takes more than ${SCHEMA_COMPILE_MS} ms to be compiled`);
    },
    problemsOfOne: (schema, data) => {
      const compile = compilerOf(schema);
      let problems: readonly FieldProblem[] = [tooSlow(SCHEMA_CHECK_MS)];
      endsInTries(SCHEMA_CHECK_MS, () => {
        problems = problemsBy(compile(schema), data);
      });
      return problems;
    },
    problemsOf: function* (checks) {
      const validators: ValidateFunction[] = [];
      for (const { eventType, schema } of checks) {
        validators.push(validatorOf(eventType, schema));
        yield;
      }
      const problems: (readonly FieldProblem[])[] = [];
      let leftMs = SCHEMA_CHECK_MS;
      let tries = 0;
      for (let next = checks[0]; next !== undefined; next = checks[problems.length]) {
        let data = yield* parsing(next.dataJson);
        const beganAt = performance.now();
        const before = process.cpuUsage();
        const inTime = endsWithin(SCHEMA_EVENT_MS, () => {
          for (;;) {
            problems.push(problemsBy(validators[problems.length], data));
            const json = checks[problems.length]?.dataJson;
            if (json === undefined || json.length > LARGE_JSON_BYTES || performance.now() - beganAt >= SLICE_MS) return;
            data = JSON.parse(json);
          }
        });
        leftMs -= Math.min(performance.now() - beganAt, cpuMsSince(before));
        const isLast = problems.length === checks.length;
        // The limit is elapsed time. On a busy machine, the check may not have run at all.
        tries = inTime ? 0 : tries + 1;
        if (!isLast && (leftMs <= 0 || tries === SCHEMA_TRIES)) {
          const limit = inTime ? SCHEMA_CHECK_MS : SCHEMA_EVENT_MS;
          return [...problems, [tooSlow(limit)], ...checks.slice(problems.length + 1).map(() => [])];
        }
        yield;
      }
      return problems;
    },
  };
}

/**
 * Like `endsWithin`, but tries again if the processor was busy elsewhere for more than half of the time: the limit is elapsed time, and
 * only slow work may be refused.
 */
function endsInTries(limitMs: number, work: () => void): boolean {
  for (let tries = 1; ; tries += 1) {
    const before = process.cpuUsage();
    if (endsWithin(limitMs, work)) return true;
    if (tries === SCHEMA_TRIES || cpuMsSince(before) > limitMs / 2) return false;
  }
}

/** The processor time of all threads: at least that of this thread. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const ENDLESS = "cannot be checked: the event type's schema refers to itself without end";

function tooSlow(limitMs: number): FieldProblem {
  return { field: 'data', problem: `takes more than ${limitMs} ms to be checked against the event type's schema` };
}

function problemsBy(validator: ValidateFunction | undefined, data: unknown): readonly FieldProblem[] {
  try {
    if (validator === undefined || validator(data)) return [];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // The stack is full: a `$ref` leads to itself without a step into the data.
    return [{ field: 'data', problem: ENDLESS }];
  }
  const [error] = validator.errors ?? [];
  // It would keep the data in memory.
  validator.errors = null;
  return error === undefined ? [{ field: 'data', problem: UNSATISFIED }] : dataProblems(error);
}

function dialectOf({ $schema }: JsonSchema): (() => Compile) | undefined {
  // The empty fragment that draft-07's own name ends in says nothing.
  return $schema === undefined ? newest : DIALECTS.get(String($schema).replace(/#$/, ''));
}

/** For a schema that was not refused. */
function compilerOf(schema: JsonSchema): Compile {
  return (dialectOf(schema) ?? newest)();
}

// The context only carries the time limit. `work` is the caller's own function and sees the caller's own globals.
const context: { work: (() => void) | null } = { work: null };
createContext(context);

const script = new Script('work()');

/**
 * Runs `work` and returns whether it ended within the limit. This bounds a regular expression that backtracks, for example. It costs 0.1 to
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
