/**
 * CloudEvents 1.0.2 (contract §12.1): the JSON format, structured and as a batch, and the binary mode of the HTTP protocol binding, whose
 * `ce-*` headers carry the attributes.
 */
import type { FormattedRecord } from '../domain/event.ts';
import { type EventContext, eventUrl } from '../domain/webhook-format.ts';

export const CLOUDEVENTS_TYPE = 'application/cloudevents+json';
export const CLOUDEVENTS_BATCH_TYPE = 'application/cloudevents-batch+json';

/** The attributes of an event in order, besides `datacontenttype`. `offset` is an extension of reads of records. */
function attributesOf(
  record: FormattedRecord,
  context: EventContext,
  placed: boolean,
): Record<string, string | number | boolean> {
  const { source, sources, thin, test } = context;
  const { eventType, subject, messageId } = record;
  return {
    ...(placed && { offset: record.offset }),
    specversion: '1.0',
    id: messageId,
    source: sources.get(eventType) ?? source,
    type: eventType,
    // The attribute must not be empty (CloudEvents §3.1, "subject").
    ...(subject !== null && subject !== '' && { subject }),
    time: new Date(record.createdAt).toISOString(),
    correlationid: record.correlationId,
    ...(test === true && { test: true }),
    ...(thin && { url: eventUrl(context, messageId) }),
  };
}

/** One event in the JSON format, in pieces to join. `placed`: with its offset. */
export function cloudEventJson(record: FormattedRecord, context: EventContext, placed: boolean = false): string[] {
  const attributes = JSON.stringify(attributesOf(record, context, placed));
  if (context.thin) return [attributes];
  return [`${attributes.slice(0, -1)},"datacontenttype":"application/json","data":`, record.dataJson, '}'];
}

/** The attributes as `ce-*` headers. `content-type` is the `datacontenttype`. */
export function binaryHeaders(record: FormattedRecord, context: EventContext): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(attributesOf(record, context, false)))
    headers[`ce-${name}`] = encodeHeaderValue(String(value));
  return headers;
}

/** Percent-encodes what a header cannot carry: all but visible ASCII, and space, `"` and `%` (HTTP protocol binding §3.1.3.2). */
function encodeHeaderValue(text: string): string {
  return text.replace(/[^\x21\x23\x24\x26-\x7e]+/gu, percentEncoded);
}

function percentEncoded(text: string): string {
  let encoded = '';
  for (const byte of Buffer.from(text, 'utf8')) encoded += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return encoded;
}
