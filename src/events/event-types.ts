/** Event types (contract §4), built-in and custom, and the check of events against them. */
import { z } from 'zod';
import type { Clock, Ids } from '../kernel/ids.ts';
import { type FieldProblem, Refusal, refuseField } from '../kernel/refusal.ts';
import { EVENT_TYPE_NAME, id, instant, isoInstant, text } from '../kernel/schemas.ts';
import { type Administration, administer } from '../resources/administration.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import type { Store } from '../store/store.ts';
import { createDataSchemas, type DataCheck } from './data-schema.ts';
import type { EventType } from './event-type.ts';

export const eventTypeInput = z
  .strictObject({
    name: z.string().regex(EVENT_TYPE_NAME, 'must be of the form <category>.<name>, in lower case'),
    description: text(0, 1000).default(''),
    encryptionRequired: z
      .boolean()
      .default(false)
      .meta({ description: 'Goes out encrypted or not at all; always so for `employee.*`.' }),
    dataSchema: z.record(z.string(), z.unknown()).nullable().default(null).meta({
      description:
        'A JSON Schema (2020-12, or draft-07 where `$schema` says so) that `data` of such events must satisfy.',
    }),
  })
  .meta({ id: 'EventTypeInput', description: "A kind of event of the company's own." });
export const eventTypePatch = eventTypeInput
  .omit({ name: true })
  .meta({ id: 'EventTypePatch', description: eventTypeInput.description });
export type EventTypeBody = BodyOf<typeof eventTypeInput>;
export type EventTypeInput = z.output<typeof eventTypeInput>;

export const eventTypeView = z
  .object({
    id,
    name: z.string(),
    description: z.string(),
    encryptionRequired: z.boolean(),
    builtIn: z.boolean(),
    dataSchema: z.record(z.string(), z.unknown()).nullable(),
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

type Draft = { readonly type: string; readonly data: unknown };

/** Only the service publishes events of this category. */
export const STATUS_CATEGORY = 'webhook.';
/** Every type of this category goes out encrypted. */
export const EMPLOYEE_CATEGORY = 'employee.';

export function createEventTypes({ store, clock, ids }: { store: Store; clock: Clock; ids: Ids }): EventTypes {
  const schemas = createDataSchemas();
  return {
    ...administer<EventType, EventTypeBody, EventTypeInput>(
      {
        name: 'event-type',
        store: store.eventTypes,
        reader: eventTypeReader,
        writable: ({ name, description, encryptionRequired, dataSchema }) => ({
          name,
          description,
          encryptionRequired,
          dataSchema,
        }),
        shown: viewEventType,
        build: async (input, before, stamp) => {
          if (input.name.startsWith(STATUS_CATEGORY))
            throw refuseField('name', `is in the category ${STATUS_CATEGORY}* of the service itself`);
          if (input.dataSchema !== null) schemas.refuseInvalid(input.dataSchema);
          const encryptionRequired = input.encryptionRequired || input.name.startsWith(EMPLOYEE_CATEGORY);
          if (encryptionRequired && before?.encryptionRequired !== true) await refuseUnencrypted(store, input.name);
          return { ...stamp, ...input, encryptionRequired, builtIn: false };
        },
        referrers: async ({ name, encryptionRequired }) => [
          ...(await store.webhooks.ofPattern(name)).map((webhook) => `webhook ${webhook.name} (${webhook.id})`),
          // Only the type says that these events must be encrypted.
          ...(encryptionRequired && (await store.eventTypes.isInLog(name)) ? ['events in the log'] : []),
        ],
        unique: { 'event_type.name': 'name' },
        audited: (eventType) => eventType,
        readOnly: ({ builtIn, name }) => (builtIn ? `the event type ${name} is built in and cannot be changed` : null),
      },
      { clock, ids },
    ),
    problemsOf: async (drafts) => {
      const problems: (FieldProblem | null)[] = [];
      const checks: (DataCheck & { readonly at: number })[] = [];
      // A thousand events have few types.
      const known = new Map<string, EventType | null>();
      for (const [at, { type, data }] of drafts.entries()) {
        const eventType = known.get(type) ?? (await store.eventTypes.getByName(type));
        known.set(type, eventType);
        problems.push(typeProblem(type, eventType));
        const schema = eventType?.dataSchema ?? null;
        if (eventType !== null && schema !== null) checks.push({ at, eventType, schema, data });
      }
      for (const [n, problem] of schemas.problemsOf(checks).entries()) problems[checks[n]?.at ?? 0] ??= problem;
      return problems;
    },
  };
}

function typeProblem(type: string, eventType: EventType | null): FieldProblem | null {
  if (eventType === null) return { field: 'type', problem: noSuchType(type) };
  if (!type.startsWith(STATUS_CATEGORY)) return null;
  return { field: 'type', problem: 'is an event type that only the service publishes' };
}

/** The problem of a field that names an unknown event type. */
export function noSuchType(name: string): string {
  return `is not the name of an event type: ${JSON.stringify(name)}; see GET /event-types, or sallyport event-type list`;
}

/** Encryption cannot be required while subscribers have no key. They need a key or must unsubscribe first. */
async function refuseUnencrypted(store: Store, type: string): Promise<void> {
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
