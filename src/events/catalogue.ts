/** The event catalogue (contract §11.2): the event types for people and programs that receive them, also as AsyncAPI 3. Pure. */
import { z } from 'zod';
import type { EventType } from '../domain/event.ts';
import { carriesSeveral, type FormatSettings, type WebhookFormat } from '../domain/webhook-format.ts';
import { VERSION } from '../kernel/version.ts';
import { eventTypeKey } from '../wire/envelope.ts';
import { formattedMessage, type OtherFormat } from './catalogue-formats.ts';

export const catalogueView = z
  .object({
    items: z.array(
      z.object({
        name: z.string(),
        group: z.string().nullable(),
        description: z.string(),
        encryptionRequired: z.boolean(),
        deprecated: z.boolean(),
        public: z.boolean(),
        dataSchema: z.record(z.string(), z.unknown()).nullable(),
        sample: z.record(z.string(), z.unknown()).nullable(),
      }),
    ),
  })
  .meta({ id: 'EventCatalogue', description: 'The event types that webhooks can subscribe to, by group and name.' });

/** The event types that someone sees. Those without a group come last, and deprecated ones last in their group. */
export function eventCatalogue(eventTypes: readonly EventType[], sees: 'all' | 'public'): readonly EventType[] {
  return eventTypes.filter((eventType) => sees === 'all' || eventType.public).toSorted(byGroup);
}

export function viewCatalogue(eventTypes: readonly EventType[]): z.infer<typeof catalogueView> {
  return {
    items: eventTypes.map((eventType) => ({
      name: eventType.name,
      group: eventType.group,
      description: eventType.description,
      encryptionRequired: eventType.encryptionRequired,
      deprecated: eventType.deprecated,
      public: eventType.public,
      dataSchema: eventType.dataSchema,
      sample: eventType.sample,
    })),
  };
}

function byGroup(a: EventType, b: EventType): number {
  if (a.group !== b.group) return a.group === null ? 1 : b.group === null ? -1 : compare(a.group, b.group);
  return Number(a.deprecated) - Number(b.deprecated) || compare(a.name, b.name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * An AsyncAPI 3.0 document: one channel to the address of each receiver, with a message for every event type in each of the two forms
 * (contract §5.2). `settings`: of the webhook that gets them (contract §12.1).
 */
export function asyncApiDocument(eventTypes: readonly EventType[], settings: FormatSettings): JsonObject {
  const { format, batch, thin } = settings;
  const carried =
    format === 'records' ? 'one or more records' : carriesSeveral(settings) ? 'one or more events' : 'one event';
  const described = batch ? BATCHED : DESCRIPTIONS[format];
  const refs = (of: string): JsonObject[] => eventTypes.map(({ name }) => ({ $ref: `#/${of}/${name}` }));
  return {
    asyncapi: '3.0.0',
    info: { title: 'Sallyport events', version: VERSION, description: thin ? `${described} ${THIN}` : described },
    defaultContentType: 'application/json',
    channels: {
      endpoint: {
        address: null,
        title: 'An endpoint',
        description: `The HTTPS address of a receiver. Every request is a POST with ${carried}.`,
        messages: Object.fromEntries(eventTypes.map(({ name }) => [name, { $ref: `#/components/messages/${name}` }])),
        bindings: { http: {} },
      },
    },
    operations: {
      deliver: {
        action: 'send',
        title: 'Deliver events',
        channel: { $ref: '#/channels/endpoint' },
        messages: refs('channels/endpoint/messages'),
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      },
    },
    components: {
      messages: Object.fromEntries(eventTypes.map((eventType) => [eventType.name, messageOf(eventType, settings)])),
      schemas: Object.fromEntries(
        eventTypes.flatMap((eventType) => [
          [eventType.name, payloadOf(eventType, settings)],
          [dataName(eventType), dataOf(eventType)],
        ]),
      ),
    },
  };
}

const RECORDS = `The events that webhooks deliver. A request has one or more records of one webhook, signed, and possibly compressed or
encrypted. A message here is one request with one record.`;
const ONE_EVENT = 'The events that webhooks of this format deliver, one event a request:';
const DESCRIPTIONS: Readonly<Record<WebhookFormat, string>> = {
  records: RECORDS,
  standard: `${ONE_EVENT} the payload and headers of Standard Webhooks.`,
  cloudevents: `${ONE_EVENT} CloudEvents 1.0 in structured mode.`,
  'cloudevents-binary': `${ONE_EVENT} CloudEvents 1.0 in binary mode.`,
};

const BATCHED = 'The events that webhooks of this format deliver, in batches of CloudEvents 1.0.';
const THIN = 'They are thin: an address in place of the data.';

function isOther(settings: FormatSettings): settings is OtherFormat {
  return settings.format !== 'records';
}

function messageOf(eventType: EventType, settings: FormatSettings): JsonObject {
  const { name, description, deprecated, group, sample } = eventType;
  const formatted = isOther(settings) ? formattedMessage(settings, name, dataRef(eventType)) : null;
  const example = (of: JsonObject) => formatted?.example(of) ?? { payload: exampleBody(name, of) };
  return {
    name,
    title: name,
    ...(description === '' ? {} : { summary: description }),
    ...(deprecated ? { description: 'Deprecated: do not subscribe to it any more.' } : {}),
    ...(group === null ? {} : { tags: [{ name: group }] }),
    contentType: formatted?.contentType ?? 'application/json',
    ...(formatted !== null && { headers: formatted.headers }),
    payload: { $ref: `#/components/schemas/${name}` },
    ...(sample === null ? {} : { examples: [{ name: 'sample', ...example(sample) }] }),
  };
}

/** The body of a request with one record (contract §5.2), or with one event in another format. */
function payloadOf(eventType: EventType, settings: FormatSettings): JsonObject {
  const { name, deprecated } = eventType;
  const marked = deprecated ? { deprecated: true } : {};
  if (isOther(settings)) return { ...formattedMessage(settings, name, dataRef(eventType)).payload, ...marked };
  const headers = object({
    messageId: UUID,
    eventType: { const: name },
    actorId: { type: ['string', 'null'] },
    correlationId: { type: 'string' },
  });
  const record = object({
    offset: { type: 'integer', minimum: 0 },
    timestamp: { type: 'string', format: 'date-time' },
    lag: { type: 'number', minimum: 0, description: 'Seconds from the event to this attempt.' },
    correlationId: { type: 'string' },
    value: object({ headers, [eventTypeKey(name)]: dataRef(eventType) }),
  });
  return {
    ...object({
      subscriptionId: UUID,
      sessionId: UUID,
      attemptNumber: { type: 'integer', minimum: 1 },
      records: { type: 'array', items: record },
    }),
    ...marked,
  };
}

function dataRef(eventType: EventType): JsonObject {
  return { $ref: SCHEMAS + dataName(eventType) };
}

const SCHEMAS = '#/components/schemas/';

/** The name of an event type has one dot, so this is no other type's name. */
function dataName({ name }: EventType): string {
  return `${name}.data`;
}

/** The schema of the data. Its references into itself lead to its place in the document. */
function dataOf(eventType: EventType): unknown {
  const { dataSchema } = eventType;
  if (dataSchema === null) return { type: 'object' };
  const { $schema: _dialect, $id: _id, ...schema } = dataSchema;
  const root = SCHEMAS + dataName(eventType);
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' && /^#(?:\/|$)/.test(value) ? root + value.slice(1) : value,
  );
}

const UUID: JsonObject = { type: 'string', format: 'uuid' };

/** All members are always there. */
function object(properties: JsonObject): JsonObject {
  return { type: 'object', required: Object.keys(properties), properties };
}

/** The body of a request with one event, in the format `records`. */
export function exampleBody(name: string, sample: JsonObject): JsonObject {
  const correlationId = '0193a1f0-0000-7000-8000-000000000004';
  const headers = {
    messageId: '0193a1f0-0000-7000-8000-000000000003',
    eventType: name,
    actorId: null,
    correlationId,
  };
  const record = {
    offset: 0,
    timestamp: '2026-11-21T05:00:00.000Z',
    lag: 0.012,
    correlationId,
    value: { headers, [eventTypeKey(name)]: sample },
  };
  return {
    subscriptionId: '0193a1f0-0000-7000-8000-000000000001',
    sessionId: '0193a1f0-0000-7000-8000-000000000002',
    attemptNumber: 1,
    records: [record],
  };
}
