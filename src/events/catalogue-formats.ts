/** Messages of the event catalogue in formats other than `records` (contract §12.1): their schemas, headers and examples. Pure. */
import type { FormattedRecord } from '../domain/event.ts';
import type { EventFormat } from '../domain/webhook-format.ts';
import { encodeEvents } from '../wire/event-format.ts';

type JsonObject = Readonly<Record<string, unknown>>;

export type OtherFormat = EventFormat['format'];

/** What a message of the format has: the media type, the schema of its body, of its headers, and an example of both. */
export type FormattedMessage = {
  readonly contentType: string;
  readonly payload: JsonObject;
  readonly headers: JsonObject;
  example(sample: JsonObject): { readonly headers: JsonObject; readonly payload: unknown };
};

const TIME: JsonObject = { type: 'string', format: 'date-time' };
const TEXT: JsonObject = { type: 'string' };

/** `data` is a reference to the schema of the data. */
export function formattedMessage(format: OtherFormat, name: string, data: JsonObject): FormattedMessage {
  const { headers } = encoded(format, name, {});
  const attributes = {
    specversion: { const: '1.0' },
    id: TEXT,
    source: TEXT,
    type: { const: name },
    time: TIME,
    correlationid: TEXT,
  };
  const bodies: Readonly<Record<OtherFormat, JsonObject>> = {
    standard: object({ type: { const: name }, timestamp: TIME, data }),
    cloudevents: object({ ...attributes, datacontenttype: { const: 'application/json' }, data }, { subject: TEXT }),
    'cloudevents-binary': data,
  };
  const ofBinary = Object.entries(attributes).map(([attribute, schema]) => [`ce-${attribute}`, schema] as const);
  const headersOf: Readonly<Record<OtherFormat, JsonObject>> = {
    standard: object({ 'webhook-id': TEXT, 'webhook-timestamp': TEXT, 'webhook-signature': TEXT }),
    cloudevents: object({}),
    'cloudevents-binary': object(Object.fromEntries(ofBinary), { 'ce-subject': TEXT }),
  };
  return {
    contentType: headers['content-type'] ?? 'application/json',
    payload: bodies[format],
    headers: headersOf[format],
    example: (sample) => {
      const made = encoded(format, name, sample);
      const { 'content-type': _, ...shown } = made.headers;
      return { headers: shown, payload: JSON.parse(Buffer.from(made.body).toString('utf8')) };
    },
  };
}

/** The body of an example, by the code that makes deliveries. */
function encoded(format: OtherFormat, eventType: string, sample: JsonObject): ReturnType<typeof encodeEvents> {
  const record: FormattedRecord = {
    offset: 0,
    createdAt: Date.UTC(2026, 10, 21, 5),
    correlationId: '0193a1f0-0000-7000-8000-000000000004',
    messageId: '0193a1f0-0000-7000-8000-000000000003',
    eventType,
    actorId: null,
    subject: null,
    dataJson: JSON.stringify(sample),
  };
  const context = { source: 'https://sallyport.example', sources: new Map<string, string>(), url: ['', ''] as const };
  return encodeEvents({ format, batch: false, thin: false, ...context }, [record]);
}

function object(required: JsonObject, optional: JsonObject = {}): JsonObject {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } };
}
