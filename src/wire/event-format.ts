/**
 * The bodies of webhooks whose format is not `records` (contract §12.1): which of them a request asks for. `standard-events.ts` and
 * `cloudevents.ts` write them.
 */
import type { FormattedRecord } from '../domain/event.ts';
import type { EventFormat } from '../domain/webhook-format.ts';
import { binaryHeaders, CLOUDEVENTS_BATCH_TYPE, CLOUDEVENTS_TYPE, cloudEventJson } from './cloudevents.ts';
import { joinText } from './payload.ts';
import { standardEventJson } from './standard-events.ts';

/** A body with the headers that belong to it, `content-type` among them unless it is empty. Names are in lower case. */
type EncodedEvents = { readonly body: Uint8Array; readonly headers: Readonly<Record<string, string>> };

/** Writes the events of one request: one, unless the format is a batch of CloudEvents. Data is inserted as stored. */
export function encodeEvents(
  format: EventFormat,
  records: readonly [FormattedRecord, ...FormattedRecord[]],
): EncodedEvents {
  const [record] = records;
  if (format.format === 'standard')
    return { body: joinText(standardEventJson(record, format)), headers: { 'content-type': 'application/json' } };
  if (format.format === 'cloudevents-binary') {
    const type = format.thin ? {} : { 'content-type': 'application/json' };
    return {
      body: joinText(format.thin ? [] : [record.dataJson]),
      headers: { ...type, ...binaryHeaders(record, format) },
    };
  }
  if (!format.batch)
    return { body: joinText(cloudEventJson(record, format)), headers: { 'content-type': CLOUDEVENTS_TYPE } };
  return { body: joinText(listed(records, format)), headers: { 'content-type': CLOUDEVENTS_BATCH_TYPE } };
}

/** A JSON list of events. `placed` adds the offset of each, and its id where the format has none. */
function listed(records: readonly FormattedRecord[], format: EventFormat, placed: boolean = false): string[] {
  const write = format.format === 'standard' ? standardEventJson : cloudEventJson;
  const pieces = records.flatMap((record, at) => [at === 0 ? '' : ',', ...write(record, format, placed)]);
  return ['[', ...pieces, ']'];
}

/**
 * The body of a read of records (contract §9, §12.1): the events in the format of the webhook, each with its `offset`. Binary CloudEvents
 * have no headers here, so they are structured ones.
 */
export function encodePlacedEvents(
  head: Readonly<Record<string, string | number | boolean>>,
  format: EventFormat,
  records: readonly FormattedRecord[],
): Uint8Array {
  return joinText([`${JSON.stringify(head).slice(0, -1)},"records":`, ...listed(records, format, true), '}']);
}
