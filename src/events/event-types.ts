/** Event types (contract §4.2), built-in and custom, and the check of events against them and their JSON Schemas. */

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { EMPLOYEE_CATEGORY, type EventType, STATUS_CATEGORY } from '../domain/event.ts';
import { SEARCH_PATHS_MAX, searchPathProblem } from '../domain/search-terms.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { once } from '../kernel/lifetime.ts';
import { type FieldProblem, Refusal, refuseField, refuseFields } from '../kernel/refusal.ts';
import { displayName, EVENT_TYPE_NAME, id, instant, isoInstant, textSchema } from '../kernel/schemas.ts';
import { slices } from '../kernel/slices.ts';
import { nextTurn } from '../kernel/turns.ts';
import { type Administration, administer } from '../resources/administration.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import type { EventVerbs } from '../store/port/events.ts';
import type { Store } from '../store/port/store.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import type { DataCheck, DataSchemas } from './data-schemas.ts';

/** The size of an event type's sample: all samples are in one document, the event catalogue. */
export const EVENT_SAMPLE_BYTES: number = 16 * 1024;

/** A URI reference (RFC 3986 §4.1) by its characters, not empty (CloudEvents §3.1, "source"). */
const URI_REFERENCE = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/;

/** It counts towards what a record adds to a batch. */
const EVENT_SOURCE_MAX_LENGTH = 500;

/** Event types of a request that are looked up before the event loop continues. */
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
    source: z
      .string()
      .max(EVENT_SOURCE_MAX_LENGTH)
      .regex(URI_REFERENCE, 'must be a URI or a relative reference')
      .nullable()
      .default(null)
      .meta({
        description: 'The `source` of its CloudEvents, a URI reference. Default: the public address of Sallyport.',
      }),
    deprecated: z.boolean().default(false).meta({ description: 'Receivers should not subscribe to it any more.' }),
    public: z
      .boolean()
      .default(true)
      .meta({ description: 'Whether everybody sees it in the event catalogue, and webhooks of customers get it.' }),
    searchPaths: z
      .array(z.string())
      .max(SEARCH_PATHS_MAX)
      .default([])
      .meta({
        description:
          'Paths such as `data.orderId`: the portal finds its events by the texts and numbers there. Not for a type whose events must ' +
          'be encrypted.',
      }),
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
    source: z.string().nullable(),
    deprecated: z.boolean(),
    public: z.boolean(),
    searchPaths: z.array(z.string()),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'EventType', description: 'A kind of event; webhooks subscribe to it by name.' });
export type EventTypeView = z.infer<typeof eventTypeView>;
export const eventTypeReader = inputReader(eventTypeInput, eventTypeView, {
  name: 'cannot be changed: webhooks subscribe to it by name',
});

export type EventTypes = Administration<EventType, EventTypeBody, EventTypeInput> & {
  /** Why each draft is not a valid event of its type. */
  problemsOf(drafts: readonly Draft[]): Promise<(readonly FieldProblem[])[]>;
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
  // At the first schema, because Ajv is a tenth of all modules and many services never need it.
  const schemas = once(async () => (await import('./data-schemas.ts')).createDataSchemas());
  return {
    ...administer<EventType, EventTypeBody, EventTypeInput>(
      {
        name: 'event-type',
        store: store.eventTypes,
        reader: eventTypeReader,
        writable: ({ id: _id, builtIn: _builtIn, createdAt: _createdAt, updatedAt: _updatedAt, ...input }) => input,
        shown: viewEventType,
        build: async (input, before, stamp) => {
          if (before?.builtIn === true)
            return { record: changedBuiltIn(before, { ...stamp, ...input, builtIn: true }) };
          if (input.name.startsWith(STATUS_CATEGORY))
            throw refuseField('name', `is in the category ${STATUS_CATEGORY}* of the service itself`);
          if (input.dataSchema !== null) (await schemas()).refuseInvalid(input.dataSchema);
          await refuseUnfit(schemas, input);
          refuseSearchPaths(input);
          const encryptionRequired = input.encryptionRequired || input.name.startsWith(EMPLOYEE_CATEGORY);
          const reachesMore = before?.encryptionRequired !== true || (input.public && !before.public);
          if (encryptionRequired && reachesMore) await refuseUnencrypted(store, input);
          return { record: { ...stamp, ...input, encryptionRequired, builtIn: false } };
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
      const problems: (readonly FieldProblem[])[] = [];
      const checks: (DataCheck & { readonly at: number })[] = [];
      // A thousand events have few types.
      const known = new Map<string, EventType | null>();
      for (const [at, { type, dataJson }] of drafts.entries()) {
        const before = known.get(type);
        const eventType = before === undefined ? await store.eventTypes.getByName(type) : before;
        if (before === undefined) {
          known.set(type, eventType);
          // A look-up on SQLite does not wait for anything.
          if (known.size % TYPES_AT_ONCE === 0) await nextTurn();
        }
        problems.push(typeProblems(type, eventType, store.customerId));
        const schema = eventType?.dataSchema ?? null;
        if (eventType !== null && schema !== null) checks.push({ at, eventType, schema, dataJson });
      }
      if (checks.length === 0) return problems;
      const dataProblems = await slices(store.customerId, (await schemas()).problemsOf(checks));
      for (const [n, { at }] of checks.entries()) if (problems[at]?.length === 0) problems[at] = dataProblems[n] ?? [];
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
async function refuseUnfit(schemas: () => Promise<DataSchemas>, { sample, dataSchema }: EventTypeInput): Promise<void> {
  if (sample === null) return;
  if (Buffer.byteLength(JSON.stringify(sample)) > EVENT_SAMPLE_BYTES)
    throw refuseField('sample', `must be at most ${EVENT_SAMPLE_BYTES} bytes of JSON`);
  const problems = dataSchema === null ? [] : (await schemas()).problemsOfOne(dataSchema, sample);
  if (problems.length === 0) return;
  throw refuseFields(
    problems.map(({ field, problem }) => ({
      field: field.replace(/^data/, 'sample'),
      problem: `does not satisfy dataSchema: ${problem}`,
    })),
  );
}

/** Values of data that must be encrypted are not to be found. */
function refuseSearchPaths({ name, searchPaths, encryptionRequired }: EventTypeInput): void {
  if (searchPaths.length > 0 && (encryptionRequired || name.startsWith(EMPLOYEE_CATEGORY)))
    throw refuseField('searchPaths', 'must be empty: events of this type must be encrypted');
  for (const [at, path] of searchPaths.entries()) {
    const problem = searchPaths.indexOf(path) < at ? 'is there twice' : searchPathProblem(path);
    if (problem !== null) throw refuseField(`searchPaths[${at}]`, problem);
  }
}

function typeProblems(type: string, eventType: EventType | null, customerId: string | null): FieldProblem[] {
  if (eventType === null) return [{ field: 'type', problem: noSuchType(type, customerId) }];
  if (!type.startsWith(STATUS_CATEGORY)) return [];
  return [{ field: 'type', problem: 'is an event type that only the service publishes' }];
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
  const searchPaths = [...eventType.searchPaths];
  return { ...eventType, searchPaths, createdAt: isoInstant(createdAt), updatedAt: isoInstant(updatedAt) };
}
