/** The events of a request, as every door reads them (contract §4). */
import { z } from 'zod';
import { type JsonParts, parseInParts, parseJson } from '../kernel/json-parts.ts';
import { compactJson, countMembers, repeatedName } from '../kernel/json-text.ts';
import { EXTERNAL_ID_MAX_LENGTH } from '../kernel/limits/customers.ts';
import {
  EVENT_DATA_BYTES,
  EVENTS_PER_REQUEST,
  IDEMPOTENCY_KEY_MAX_LENGTH,
  JSON_DEPTH_MAX,
  LARGE_JSON_BYTES,
} from '../kernel/limits/limits.ts';
import { type FieldProblem, Refusal, refuseFields } from '../kernel/refusal.ts';
import { EVENT_TYPE_NAME, textSchema } from '../kernel/schemas.ts';
import { inOnePiece, type Work } from '../kernel/slices.ts';
import { fieldName, isObject, validate, validateEach } from '../kernel/validation.ts';
import { type DataSpan, findingData, REPEATED } from './event-text.ts';

export const reference: z.ZodType<string, string> = textSchema(1, 200);

export const eventInput = z
  .strictObject({
    type: z.string().max(130).meta({ description: 'The name of an event type.', pattern: EVENT_TYPE_NAME.source }),
    data: z.record(z.string(), z.unknown()).meta({ description: `At most ${EVENT_DATA_BYTES} bytes of JSON.` }),
    subject: reference.nullish().meta({ description: 'The person whom it is about, whose data an erasure deletes.' }),
    correlationId: reference.nullish().meta({ description: 'Handed on to receivers; made if absent.' }),
    actorId: reference.nullish().meta({ description: 'Who caused it.' }),
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
export type CheckedEvent = z.output<typeof eventInput> & {
  /** The JSON of `data` that is stored and sent. */
  readonly dataJson: string;
  /** Whether `data` has every number with the digits of `dataJson`. */
  readonly isExact: boolean;
};
export const eventBatchInput = z
  .strictObject({ events: z.array(eventInput).min(1).max(EVENTS_PER_REQUEST) })
  .meta({ id: 'EventBatchInput', description: 'Events that are accepted all or none.' });

/** One event, or a list of them. Refusals name the fields of a list by their place: `events[1].data`. */
export type Events = CheckedEvent | readonly CheckedEvent[];

/** How a large request is read in parts, once the data is cut out. */
const EVENT_PARTS: JsonParts = {
  list: 'events',
  itemsMax: EVENTS_PER_REQUEST,
  bytesMax: 8 * 1024,
  hint: 'beside its data, an event has only short texts',
};

/** The same as `eventBatchInput`, without its events. */
const batchOutline = z.strictObject({ events: z.array(z.unknown()).min(1).max(EVENTS_PER_REQUEST) });

/**
 * Reads the JSON text of a request: one event, or several as `{events: […]}`. The data of an event is stored and sent as it came, without
 * the white space between its parts. Pauses between events, and while it scans a large text. Throws 400: `malformed_json`, or a `Refusal`
 * that names the fields.
 */
export function* readingEvents(text: string): Work<Events> {
  const { request, members, data } = yield* findingData(text, EVENTS_PER_REQUEST);
  const body = yield* parsedRequest(request, text);
  const isBatch = isObject(body) && Object.hasOwn(body, 'events');
  const given = isBatch
    ? yield* validateEach(eventInput, validate(batchOutline, body).events, 'events')
    : yield* validateEach(eventInput, [body], null);
  if (countMembers(body) < members) throw refuseFields([repeated([], request)]);
  const problems: (FieldProblem | null)[] = [];
  // Before any of the data is parsed.
  for (const span of data) {
    problems.push(dataProblem(text, span));
    yield;
  }
  refuseAll(problems, data, isBatch);
  const events: CheckedEvent[] = [];
  for (const [at, { begin, end, event }] of data.entries()) {
    const { problem, ...kept } = keptData(text.slice(begin, end), begin);
    problems[at] = problem;
    events.push({ ...(given[event] as z.output<typeof eventInput>), ...kept });
    yield;
  }
  refuseAll(problems, data, isBatch);
  return isBatch ? events : (events[0] as CheckedEvent);
}

/** The same without pauses. */
export function readEvents(text: string): Events {
  return inOnePiece(readingEvents(text));
}

/** Parses the request without its data. If that fails, the whole text is not JSON, and the refusal of a small one tells the place in it. */
function* parsedRequest(request: string, text: string): Work<unknown> {
  if (text.length <= LARGE_JSON_BYTES) {
    try {
      return JSON.parse(request) as unknown;
    } catch {
      return parseJson(text);
    }
  }
  try {
    return yield* parseInParts(request, EVENT_PARTS);
  } catch (error) {
    const isMalformed = error instanceof Refusal && error.code === 'malformed_json';
    throw isMalformed ? new Refusal('malformed_json', 'the body is not JSON') : error;
  }
}

/** The data that a part of the text holds, which begins at `begin`. `problem`: a name is repeated. */
function keptData(
  sent: string,
  begin: number,
): Pick<CheckedEvent, 'data' | 'dataJson' | 'isExact'> & { readonly problem: FieldProblem | null } {
  const data = parseJson(sent, begin) as CheckedEvent['data'];
  const written = JSON.stringify(data);
  // As most programs send it: nothing was lost.
  if (written === sent) return { data, dataJson: written, isExact: true, problem: null };
  const { json: dataJson, members, isExact } = compactJson(sent);
  const problem = countMembers(data) < members ? repeated(['data'], sent) : null;
  return { data, dataJson, isExact, problem };
}

function repeated(above: readonly PropertyKey[], json: string): FieldProblem {
  return { field: fieldName([...above, ...(repeatedName(json) ?? [])]), problem: REPEATED };
}

/** The problem of data that is too large or nested too deep. */
function dataProblem(text: string, { begin, end, depth }: DataSpan): FieldProblem | null {
  if (depth > JSON_DEPTH_MAX) return { field: 'data', problem: `must not be nested deeper than ${JSON_DEPTH_MAX}` };
  // A character takes at most 3 bytes of UTF-8.
  if ((end - begin) * 3 <= EVENT_DATA_BYTES) return null;
  const size = compactJson(text.slice(begin, end)).bytes;
  if (size <= EVENT_DATA_BYTES) return null;
  return { field: 'data', problem: `has ${size} bytes of JSON, more than ${EVENT_DATA_BYTES}` };
}

function refuseAll(problems: readonly (FieldProblem | null)[], data: readonly DataSpan[], isBatch: boolean): void {
  const details = problems.flatMap((found, n) =>
    found === null ? [] : [{ ...found, field: fieldOf(data[n]?.event ?? 0, found.field, isBatch) }],
  );
  if (details.length > 0) throw refuseFields(details);
}

/** The name of a field of one event of a request. */
export function fieldOf(at: number, field: string, batch: boolean): string {
  return batch ? `events[${at}].${field}` : field;
}
