/** Event types (contract §4), built-in and custom, and the check of events against them and their JSON Schemas. */

import { isDeepStrictEqual } from 'node:util';
import { createContext, Script } from 'node:vm';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { EMPLOYEE_CATEGORY, type EventType, STATUS_CATEGORY } from '../domain/event.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { LARGE_JSON_BYTES, parsing } from '../kernel/json-parts.ts';
import { createLru } from '../kernel/lru.ts';
import { type FieldProblem, Refusal, refuseField } from '../kernel/refusal.ts';
import { displayName, EVENT_TYPE_NAME, id, instant, isoInstant, textSchema } from '../kernel/schemas.ts';
import { SLICE_MS, slices, type Work } from '../kernel/slices.ts';
import { nextTurn } from '../kernel/turns.ts';
import { fieldName } from '../kernel/validation.ts';
import { type Administration, administer } from '../resources/administration.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import type { EventVerbs } from '../store/port/events.ts';
import type { Store } from '../store/port/store.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { EVENT_TYPE_SCHEMAS_CACHED } from './limits.ts';

/** Of the sample of an event type: all samples are in one document, the event catalogue. */
export const EVENT_SAMPLE_BYTES: number = 16 * 1024;

/**
 * Time limits for compiling a schema, for validating all events of one request, and for one event. The first and last block the event loop.
 */
const SCHEMA_COMPILE_MS = 2000;
const SCHEMA_CHECK_MS = 500;
export const SCHEMA_EVENT_MS = 75;

/** Checks of an event that take too long before it is refused. */
const SCHEMA_TRIES = 3;

/** Event types of a request that are looked up before the event loop goes on. */
const TYPES_AT_ONCE = 50;

const eventTypeInput = z
  .strictObject({
    name: z.string().regex(EVENT_TYPE_NAME, 'must be of the form <category>.<name>, in lower case'),
    description: textSchema(0, 1000).default(''),
    encryptionRequired: z
      .boolean()
      .default(false)
      .meta({ description: 'Is sent only encrypted; always so for `employee.*`.' }),
    dataSchema: z.record(z.string(), z.unknown()).nullable().default(null).meta({
      description:
        'A JSON Schema (2020-12, or draft-07 where `$schema` says so) that `data` of such events must satisfy.',
    }),
    sample: z
      .record(z.string(), z.unknown())
      .nullable()
      .default(null)
      .meta({
        description: `The \`data\` of an example, at most ${EVENT_SAMPLE_BYTES} bytes of JSON. It must satisfy \`dataSchema\`.`,
      }),
    group: displayName
      .nullable()
      .default(null)
      .meta({ description: 'The heading under which the event catalogue lists it.' }),
    deprecated: z.boolean().default(false).meta({ description: 'Receivers should not subscribe to it any more.' }),
    public: z
      .boolean()
      .default(true)
      .meta({ description: 'Whether everybody sees it in the event catalogue, and webhooks of customers get it.' }),
  })
  .meta({ id: 'EventTypeInput', description: "A kind of event of the company's own." });
export const eventTypePatch = eventTypeInput
  .omit({ name: true })
  .meta({ id: 'EventTypePatch', description: eventTypeInput.description });
export type EventTypeBody = BodyOf<typeof eventTypeInput>;
type EventTypeInput = z.output<typeof eventTypeInput>;

export const eventTypeView = z
  .object({
    id,
    name: z.string(),
    description: z.string(),
    encryptionRequired: z.boolean(),
    builtIn: z.boolean(),
    dataSchema: z.record(z.string(), z.unknown()).nullable(),
    sample: z.record(z.string(), z.unknown()).nullable(),
    group: z.string().nullable(),
    deprecated: z.boolean(),
    public: z.boolean(),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'EventType', description: 'A kind of event; webhooks subscribe to it by name.' });
export type EventTypeView = z.infer<typeof eventTypeView>;
export const eventTypeReader = inputReader(eventTypeInput, eventTypeView, {
  name: 'cannot be changed: webhooks subscribe to it by name',
});

export type EventTypes = Administration<EventType, EventTypeBody, EventTypeInput> & {
  /** Why each draft is not a valid event of its type, or null. */
  problemsOf(drafts: readonly Draft[]): Promise<(FieldProblem | null)[]>;
};

type Draft = { readonly type: string; readonly dataJson: string };

export function createEventTypes({
  store,
  clock,
  ids,
}: {
  store: EventVerbs & WebhookVerbs & Pick<Store, 'customerId'>;
  clock: Clock;
  ids: Ids;
}): EventTypes {
  const schemas = createDataSchemas();
  return {
    ...administer<EventType, EventTypeBody, EventTypeInput>(
      {
        name: 'event-type',
        store: store.eventTypes,
        reader: eventTypeReader,
        writable: ({ id: _id, builtIn: _builtIn, createdAt: _createdAt, updatedAt: _updatedAt, ...input }) => input,
        shown: viewEventType,
        build: async (input, before, stamp) => {
          if (before?.builtIn === true) return changedBuiltIn(before, { ...stamp, ...input, builtIn: true });
          if (input.name.startsWith(STATUS_CATEGORY))
            throw refuseField('name', `is in the category ${STATUS_CATEGORY}* of the service itself`);
          if (input.dataSchema !== null) schemas.refuseInvalid(input.dataSchema);
          refuseUnfit(schemas, input);
          const encryptionRequired = input.encryptionRequired || input.name.startsWith(EMPLOYEE_CATEGORY);
          const reachesMore = before?.encryptionRequired !== true || (input.public && !before.public);
          if (encryptionRequired && reachesMore) await refuseUnencrypted(store, input);
          return { ...stamp, ...input, encryptionRequired, builtIn: false };
        },
        referrers: async ({ name, encryptionRequired }) => [
          ...(await store.webhooks.ofPattern(name)).map((webhook) => `webhook ${webhook.name} (${webhook.id})`),
          // Only the type says that these events must be encrypted.
          ...(encryptionRequired && (await store.eventTypes.isInLog(name)) ? ['events in the log'] : []),
        ],
        unique: { 'event_type.name': 'name' },
        audited: (eventType) => eventType,
        readOnly: ({ builtIn, name }, verb) => (builtIn && verb === 'delete' ? builtInStays(name) : null),
      },
      { clock, ids },
    ),
    problemsOf: async (drafts) => {
      const problems: (FieldProblem | null)[] = [];
      const checks: (DataCheck & { readonly at: number })[] = [];
      // A thousand events have few types.
      const known = new Map<string, EventType | null>();
      for (const [at, { type, dataJson }] of drafts.entries()) {
        const eventType = known.get(type) ?? (await store.eventTypes.getByName(type));
        if (!known.has(type)) {
          known.set(type, eventType);
          // A look-up on SQLite does not wait for anything.
          if (known.size % TYPES_AT_ONCE === 0) await nextTurn();
        }
        problems.push(typeProblem(type, eventType, store.customerId));
        const schema = eventType?.dataSchema ?? null;
        if (eventType !== null && schema !== null) checks.push({ at, eventType, schema, dataJson });
      }
      if (checks.length === 0) return problems;
      const found = await slices(store.customerId, schemas.problemsOf(checks));
      for (const [n, problem] of found.entries()) problems[checks[n]?.at ?? 0] ??= problem;
      return problems;
    },
  };
}

function builtInStays(name: string): string {
  return `the event type ${name} is built in and cannot be changed, except public`;
}

/** The operator decides whether customers get a built-in type. Throws 409 for any other change. */
function changedBuiltIn(before: EventType, after: EventType): EventType {
  const { public: isPublic, updatedAt } = after;
  if (isDeepStrictEqual({ ...before, public: isPublic, updatedAt }, after)) return after;
  throw new Refusal('read_only', builtInStays(before.name));
}

/** A sample must satisfy the schema, also when the schema is what changes. */
function refuseUnfit(schemas: DataSchemas, { sample, dataSchema }: EventTypeInput): void {
  if (sample === null) return;
  if (Buffer.byteLength(JSON.stringify(sample)) > EVENT_SAMPLE_BYTES)
    throw refuseField('sample', `must be at most ${EVENT_SAMPLE_BYTES} bytes of JSON`);
  const problem = dataSchema === null ? null : schemas.problemOf(dataSchema, sample);
  if (problem === null) return;
  throw refuseField(problem.field.replace(/^data/, 'sample'), `does not satisfy dataSchema: ${problem.problem}`);
}

function typeProblem(type: string, eventType: EventType | null, customerId: string | null): FieldProblem | null {
  if (eventType === null) return { field: 'type', problem: noSuchType(type, customerId) };
  if (!type.startsWith(STATUS_CATEGORY)) return null;
  return { field: 'type', problem: 'is an event type that only the service publishes' };
}

/** The problem of a field that names an unknown event type, for its publisher or the owner of a webhook. */
export function noSuchType(name: string, customerId: string | null): string {
  const problem = `is not the name of an event type: ${JSON.stringify(name)}; see GET /event-types`;
  return customerId === null ? `${problem}, or sallyport event-type list` : problem;
}

/** Encryption cannot be required while subscribers have no key. They need a key or must unsubscribe first. */
async function refuseUnencrypted(
  store: EventVerbs & WebhookVerbs & Pick<Store, 'customerId'>,
  type: EventTypeInput,
): Promise<void> {
  const webhooks = (await store.webhooks.unencryptedOf(type)).map(({ id, name }) => `webhook ${name} (${id})`);
  if (webhooks.length === 0) return;
  throw new Refusal(
    'conflict',
    `encryptionRequired cannot be true: ${webhooks.join(', ')} would get it without encryption`,
    {
      details: webhooks.map((webhook) => ({
        field: 'encryptionRequired',
        problem: `conflicts with ${webhook}, which has no key`,
      })),
    },
  );
}

export function viewEventType({ createdAt, updatedAt, ...eventType }: EventType): EventTypeView {
  return { ...eventType, createdAt: isoInstant(createdAt), updatedAt: isoInstant(updatedAt) };
}

type JsonSchema = Readonly<Record<string, unknown>>;

/** The JSON Schemas of event types. */
type DataSchemas = {
  /** Throws a refusal of `dataSchema` that gives the reason. */
  refuseInvalid(schema: JsonSchema): void;
  /** The first problem of `data`, or null, by a schema of no stored event type. */
  problemOf(schema: JsonSchema, data: unknown): FieldProblem | null;
  /**
   * The first problem of each, or null. A check that takes too long is a problem too, because the size of a schema does not bound its
   * work: one check, or all of them together. The checks after it are skipped.
   */
  problemsOf(checks: readonly DataCheck[]): Work<(FieldProblem | null)[]>;
};

type DataCheck = {
  readonly eventType: Pick<EventType, 'id' | 'updatedAt'>;
  readonly schema: JsonSchema;
  readonly dataJson: string;
};

/** By `$schema`; the first without it. Most schemas in use are of the second. */
const DIALECTS: ReadonlyMap<string, typeof Ajv | typeof Ajv2020> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', Ajv2020],
  ['http://json-schema.org/draft-07/schema', Ajv],
]);

/** Compiled validators are kept per version of their event type, a bounded number of them. `format` is not checked. */
function createDataSchemas(): DataSchemas {
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
        inTime = endsInTries(SCHEMA_COMPILE_MS, () => void compile(schema));
      } catch (error) {
        const why = error instanceof Error ? error.message.slice(0, 300) : '';
        throw refuseField('dataSchema', `is not a JSON Schema: ${why}`);
      }
      if (!inTime) throw refuseField('dataSchema', `takes more than ${SCHEMA_COMPILE_MS} ms to be compiled`);
    },
    problemOf: (schema, data) => {
      let problem: FieldProblem | null = tooSlow(SCHEMA_CHECK_MS);
      endsInTries(SCHEMA_CHECK_MS, () => {
        problem = dataProblem(compile(schema), data);
      });
      return problem;
    },
    problemsOf: function* (checks) {
      const validators: ValidateFunction[] = [];
      for (const { eventType, schema } of checks) {
        validators.push(validatorOf(eventType, schema));
        yield;
      }
      const problems: (FieldProblem | null)[] = [];
      let leftMs = SCHEMA_CHECK_MS;
      let tries = 0;
      for (let next = checks[0]; next !== undefined; next = checks[problems.length]) {
        let data = yield* parsing(next.dataJson);
        const beganAt = performance.now();
        const inTime = endsWithin(SCHEMA_EVENT_MS, () => {
          for (;;) {
            problems.push(dataProblem(validators[problems.length], data));
            const json = checks[problems.length]?.dataJson;
            if (json === undefined || json.length > LARGE_JSON_BYTES || performance.now() - beganAt >= SLICE_MS) return;
            data = JSON.parse(json);
          }
        });
        leftMs -= performance.now() - beganAt;
        const isLast = problems.length === checks.length;
        // The limit is of time that passes. On a busy machine, the check may not have run at all.
        tries = inTime ? 0 : tries + 1;
        if (!isLast && (leftMs <= 0 || tries === SCHEMA_TRIES)) {
          const limit = tries === SCHEMA_TRIES ? SCHEMA_EVENT_MS : SCHEMA_CHECK_MS;
          return [...problems, tooSlow(limit), ...checks.slice(problems.length + 1).map(() => null)];
        }
        yield;
      }
      return problems;
    },
  };
}

/**
 * Like `endsWithin`, but tries again if the processor was busy elsewhere for more than half of the time: the limit is of time that passes,
 * and only work may be refused for being slow.
 */
function endsInTries(limitMs: number, work: () => void): boolean {
  for (let tries = 1; ; tries += 1) {
    const before = process.cpuUsage();
    if (endsWithin(limitMs, work)) return true;
    const { user, system } = process.cpuUsage(before);
    if (tries === SCHEMA_TRIES || (user + system) / 1000 > limitMs / 2) return false;
  }
}

function tooSlow(limitMs: number): FieldProblem {
  return { field: 'data', problem: `takes more than ${limitMs} ms to be checked against the event type's schema` };
}

function dataProblem(validator: ValidateFunction | undefined, data: unknown): FieldProblem | null {
  if (validator === undefined || validator(data)) return null;
  const [error] = validator.errors ?? [];
  return {
    field: fieldName(['data', ...stepsOf(error?.instancePath ?? '')]),
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
function stepsOf(pointer: string): (string | number)[] {
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
