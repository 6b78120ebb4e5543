/** Messages of the event catalogue in formats other than `records` (contract §12.1): their schemas, headers and examples. Pure. */
import type { FormattedRecord } from '../domain/event.ts';
import type { EventFormat, FormatSettings } from '../domain/webhook-format.ts';
import { encodeEvents } from '../wire/event-format.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The settings of a webhook whose format is another one than `records`. */
export type OtherFormat = FormatSettings & Pick<EventFormat, 'format'>;

/** The parts of a message of the format: the media type, the schema of its body, of its headers, and an example of both. */
type FormattedMessage = {
  readonly contentType: string;
  readonly payload: JsonObject;
  readonly headers: JsonObject;
  /** `source`: of CloudEvents; default: an example. */
  example(sample: JsonObject, source?: string): { readonly headers: JsonObject; readonly payload: unknown };
};

const TIME: JsonObject = { type: 'string', format: 'date-time' };
const TEXT: JsonObject = { type: 'string' };
const ADDRESS: JsonObject = { type: 'string', format: 'uri', description: 'Where the event is read.' };
const NO_BODY: JsonObject = { type: 'string', maxLength: 0, description: 'The body is empty.' };
const SOURCE = 'https://sallyport.example';

/** `data` is a reference to the schema of the data. */
export function formattedMessage(settings: OtherFormat, name: string, data: JsonObject): FormattedMessage {
  const { format, batch, thin } = settings;
  const { headers } = encoded(settings, name, {});
  const content = thin ? { url: ADDRESS } : { data };
  const attributes = {
    specversion: { const: '1.0' },
    id: TEXT,
    source: TEXT,
    type: { const: name },
    time: TIME,
    correlationid: TEXT,
  };
  const contentType = thin ? {} : { datacontenttype: { const: 'application/json' } };
  const bodies: Readonly<Record<OtherFormat['format'], JsonObject>> = {
    standard: object({ type: { const: name }, timestamp: TIME, ...content }),
    cloudevents: object({ ...attributes, ...contentType, ...content }, { subject: TEXT }),
    'cloudevents-binary': thin ? NO_BODY : data,
  };
  const ofBinary = Object.entries({ ...attributes, ...(thin && content) }).map(
    ([attribute, schema]) => [`ce-${attribute}`, schema] as const,
  );
  const headersOf: Readonly<Record<OtherFormat['format'], JsonObject>> = {
    standard: object({ 'webhook-id': TEXT, 'webhook-timestamp': TEXT, 'webhook-signature': TEXT }),
    cloudevents: object({}),
    'cloudevents-binary': object(Object.fromEntries(ofBinary), { 'ce-subject': TEXT }),
  };
  return {
    contentType: headers['content-type'] ?? 'application/json',
    payload: batch ? { type: 'array', minItems: 1, items: bodies[format] } : bodies[format],
    headers: headersOf[format],
    example: (sample, source) => {
      const made = encoded(settings, name, sample, source);
      const { 'content-type': _, ...shown } = made.headers;
      const body = Buffer.from(made.body).toString('utf8');
      return { headers: shown, payload: body === '' ? '' : JSON.parse(body) };
    },
  };
}

/** The body of an example, by the code that makes deliveries. */
function encoded(
  settings: OtherFormat,
  eventType: string,
  sample: JsonObject,
  source: string = SOURCE,
): ReturnType<typeof encodeEvents> {
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
  const url = [`${SOURCE}/services/api/x/edge/v1/events/`, ''] as const;
  return encodeEvents({ ...settings, source, sources: new Map(), url }, [record]);
}

function object(required: JsonObject, optional: JsonObject = {}): JsonObject {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } };
}
