/** The events of a request, as every door reads them (contract §4.13). */

import { z } from 'zod';
import { EVENTS_PER_REQUEST } from '../domain/event.ts';
import { EXTERNAL_ID_MAX_LENGTH } from '../domain/limits.ts';
import { LARGE_JSON_BYTES, parseJson } from '../kernel/json-parts.ts';
import { repeatedName } from '../kernel/json-text.ts';
import { type FieldProblem, Refusal, refuseField, refuseFields } from '../kernel/refusal.ts';
import { EVENT_TYPE_NAME, textSchema } from '../kernel/schemas.ts';
import { inOnePiece, type Work } from '../kernel/slices.ts';
import { fieldName, isObject, JSON_DEPTH_MAX, validate, validateEach } from '../kernel/validation.ts';
import { type CompactJson, type EventData, type EventTexts, REPEATED, readingTexts } from './event-text.ts';
import { EVENT_DATA_BYTES, IDEMPOTENCY_KEY_MAX_LENGTH } from './limits.ts';

export const reference: z.ZodType<string, string> = textSchema(1, 200);

export const eventInput = z
  .strictObject({
    type: z.string().max(130).meta({ description: 'The name of an event type.', pattern: EVENT_TYPE_NAME.source }),
    data: z.record(z.string(), z.unknown()).meta({ description: `At most ${EVENT_DATA_BYTES} bytes of JSON.` }),
    subject: reference.nullish().meta({ description: 'The person whom it is about, whose data an erasure deletes.' }),
    correlationId: reference.nullish().meta({ description: 'Handed on to receivers; made if absent.' }),
    actorId: reference.nullish().meta({ description: 'Who caused it.' }),
    orderingKey: reference.nullish().meta({
      description:
        'Webhooks with `ordered: "key"` send events of one key in order. For employee events by default the `userId`.',
    }),
    customerId: z.string().max(100).nullish().meta({
      description:
        "The customer whose webhooks get it, besides the operator's own. Without one, only the operator's own get it.",
    }),
    customerExternalId: textSchema(1, EXTERNAL_ID_MAX_LENGTH)
      .nullish()
      .meta({ description: 'The same by your own id.' }),
    audience: z
      .literal('everyone')
      .nullish()
      .meta({ description: "All webhooks that subscribe get it, the operator's and every customer's." }),
    idempotencyKey: textSchema(1, IDEMPOTENCY_KEY_MAX_LENGTH).nullish().meta({
      description:
        'For 24 hours, an event with the same key and content is this one again; with other content it is refused.',
    }),
  })
  .meta({ id: 'EventInput', description: 'An event.' });
export type CheckedEvent = Omit<z.output<typeof eventInput>, 'data'> & {
  /** The JSON of its data, which is stored and sent. */
  readonly dataJson: string;
};
export const eventBatchInput = z
  .strictObject({ events: z.array(eventInput).min(1).max(EVENTS_PER_REQUEST) })
  .meta({ id: 'EventBatchInput', description: 'Events that are accepted all or none.' });

/** One event, or a list of them. Refusals name the fields of a list by their place: `events[1].data`. */
export type Events = CheckedEvent | readonly CheckedEvent[];

/** The same as `eventBatchInput`, without its events. */
const batchOutline = z.strictObject({ events: z.array(z.unknown()).min(1).max(EVENTS_PER_REQUEST) });

/**
 * Reads the bytes of a request: one event, or several as `{events: […]}`. The data of an event is stored and sent as it came, without the
 * white space between its parts. Pauses between events, and while it reads a large text. Throws 400: `malformed_json`, or a `Refusal` that
 * names the fields.
 */
export function* readingEvents(bytes: Buffer): Work<Events> {
  const { request, events, data } = yield* textsOf(bytes);
  const body = JSON.parse(request.json) as unknown;
  const isBatch = isObject(body) && Object.hasOwn(body, 'events');
  let items: readonly unknown[] = [body];
  if (isBatch) {
    const parsed: unknown[] = [];
    for (const { json } of events) {
      parsed.push(JSON.parse(json));
      yield;
    }
    // The member may occur twice. As with `JSON.parse`, the last one counts.
    items = validate(batchOutline, body).events.map((place) => parsed[Number(place)]);
  }
  const given = yield* validateEach(eventInput, items, isBatch ? 'events' : null);
  refuseRepeated(request, events);
  const problems: (FieldProblem | null)[] = [];
  for (const one of data) {
    problems.push(dataProblem(one));
    yield;
  }
  const details = problems.flatMap((found, n) =>
    found === null ? [] : [{ ...found, field: fieldOf(data[n]?.event ?? 0, found.field, isBatch) }],
  );
  if (details.length > 0) throw refuseFields(details);
  const checked = data.map(({ event, json: dataJson }) => {
    const { data: _cut, ...rest } = given[event] as z.output<typeof eventInput>;
    return { ...rest, dataJson };
  });
  return isBatch ? checked : (checked[0] as CheckedEvent);
}

/** Reads a text without pauses. */
export function readEvents(text: string): Events {
  return inOnePiece(readingEvents(Buffer.from(text)));
}

/** The refusal of a small text that is not JSON names the line too. */
function* textsOf(bytes: Buffer): Work<EventTexts> {
  try {
    return yield* readingTexts(bytes);
  } catch (error) {
    const isMalformed = error instanceof Refusal && error.code === 'malformed_json';
    if (isMalformed && bytes.length <= LARGE_JSON_BYTES) parseJson(bytes.toString());
    throw error;
  }
}

/** Refuses a name that is twice in an object beside the data. */
function refuseRepeated(request: CompactJson, events: readonly CompactJson[]): void {
  for (const [at, { json, mayRepeat }] of [request, ...events].entries()) {
    const path = mayRepeat ? repeatedName(json) : null;
    if (path === null) continue;
    throw refuseField(fieldName(at === 0 ? path : ['events', at - 1, ...path]), REPEATED);
  }
}

/** The problem of data that is too large, is nested too deep, or has a name twice in an object. */
function dataProblem({ json, bytes, depth, mayRepeat }: EventData): FieldProblem | null {
  if (depth > JSON_DEPTH_MAX) return { field: 'data', problem: `must not be nested deeper than ${JSON_DEPTH_MAX}` };
  if (bytes > EVENT_DATA_BYTES)
    return { field: 'data', problem: `has ${bytes} bytes of JSON, more than ${EVENT_DATA_BYTES}` };
  const path = mayRepeat ? repeatedName(json) : null;
  return path === null ? null : { field: fieldName(['data', ...path]), problem: REPEATED };
}

/** The name of a field of one event of a request. */
export function fieldOf(at: number, field: string, batch: boolean): string {
  return batch ? `events[${at}].${field}` : field;
}
