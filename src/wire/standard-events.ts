/** The body of the format `standard` (contract §12.1): the payload that the specification of Standard Webhooks recommends. */
import type { FormattedRecord } from '../domain/event.ts';
import { type EventContext, eventUrl } from '../domain/webhook-format.ts';

/** One event as JSON, in pieces to join. `placed`: with its offset and id, which a delivery has in headers or not at all. */
export function standardEventJson(record: FormattedRecord, context: EventContext, placed: boolean = false): string[] {
  const { thin, test } = context;
  const place = placed ? `"offset":${record.offset},"id":${JSON.stringify(record.messageId)},` : '';
  const mark = test === true ? ',"test":true' : '';
  const head = `{${place}"type":${JSON.stringify(record.eventType)},"timestamp":"${new Date(record.createdAt).toISOString()}"${mark}`;
  if (thin) return [`${head},"url":${JSON.stringify(eventUrl(context, record.messageId))}}`];
  return [`${head},"data":`, record.dataJson, '}'];
}
