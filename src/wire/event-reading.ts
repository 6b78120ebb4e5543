/**
 * Reads the bodies of formats other than `records` (contract §12.1), on any runtime: the inverse of `event-format.ts`. CloudEvents come
 * structured, in batches, or with `ce-*` headers; an event of the format `standard` has its id in `webhook-id`.
 */
import { reject, type Verdict } from './verdict.ts';

/** An event as a receiver gets it. */
export type ReceivedEvent = {
  readonly messageId: string;
  readonly eventType: string;
  /** Epoch milliseconds of the event. */
  readonly createdAt: number;
  /** These three are null in the format `standard`, and `subject` also if the event has none. */
  readonly subject: string | null;
  readonly source: string | null;
  readonly correlationId: string | null;
  /** Parsed. Absent if the webhook sends thin bodies. */
  readonly data?: unknown;
  /** Where a thin event can be read; else null. */
  readonly url: string | null;
  /** The sample of its event type, sent to test the receiver. Absent from all other events. */
  readonly test?: true;
};

export type EventFailureCode = 'malformed_json' | 'malformed_event';

type EventsVerdict = Verdict<EventFailureCode, { readonly events: readonly ReceivedEvent[] }>;

export type EventsFormat = 'standard' | 'structured' | 'binary';

/** With names in lower case. */
type EventHeaders = ReadonlyMap<string, string>;

/**
 * The format that the headers announce; null for records, and for encrypted bodies whose format only `formatOfContent` can find. Of the
 * two kinds of messages with `webhook-id`, records have one that begins with `msg_`.
 */
export function announcedFormat(headers: EventHeaders): EventsFormat | null {
  const type = headers.get('content-type') ?? '';
  if (/^application\/cloudevents(-batch)?\+json\s*(;|$)/i.test(type)) return 'structured';
  if (headers.has('ce-specversion')) return 'binary';
  return headers.get('webhook-id')?.startsWith('msg_') === false ? 'standard' : null;
}

/** The format of a decrypted body, whose content type is not sent. */
export function formatOfContent(body: Uint8Array): EventsFormat | null {
  const value = parsed(body);
  if (Array.isArray(value)) return 'structured';
  return isObject(value) && 'specversion' in value ? 'structured' : null;
}

/** Reads the events of a body and checks every member of the contract. Unknown members are ignored. Never throws. */
export function readFormattedEvents(format: EventsFormat, headers: EventHeaders, body: Uint8Array): EventsVerdict {
  if (format === 'binary') return readBinary(headers, body);
  const value = parsed(body);
  if (value === undefined) return NOT_JSON;
  if (format === 'standard') return listOf([standardEvent(value, headers.get('webhook-id') ?? '')]);
  const all: unknown[] = Array.isArray(value) ? value : [value];
  return all.length === 0 ? malformed('the batch is empty') : listOf(all.map(cloudEvent));
}

const NOT_JSON = reject('malformed_json', 'the body is not JSON in UTF-8');

function readBinary(headers: EventHeaders, body: Uint8Array): EventsVerdict {
  const attributes: Record<string, unknown> = {};
  for (const [name, value] of headers) if (name.startsWith('ce-')) attributes[name.slice(3)] = percentDecoded(value);
  if (attributes.test === 'true') attributes.test = true;
  if (body.length > 0) {
    attributes.data = parsed(body);
    if (attributes.data === undefined) return NOT_JSON;
  }
  return listOf([cloudEvent(attributes)]);
}

/** HTTP protocol binding §3.1.3.2. A value that is not percent-encoded UTF-8 stays as it is. */
function percentDecoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

type One = ReceivedEvent | string;

function listOf(all: readonly One[]): EventsVerdict {
  const problem = all.find((one) => typeof one === 'string');
  return problem === undefined ? { ok: true, events: all as readonly ReceivedEvent[] } : malformed(problem);
}

function malformed(problem: string) {
  return reject('malformed_event', problem);
}

/** Returns the problem as text. */
function cloudEvent(value: unknown): One {
  if (!isObject(value)) return 'the event is not an object';
  const { id, type, source, subject, correlationid } = value;
  if (value.specversion !== '1.0') return 'specversion is not 1.0';
  if (!isName(id) || !isName(type) || !isName(source)) return 'id, type or source is missing';
  return event(value, {
    messageId: id,
    eventType: type,
    time: value.time,
    subject: typeof subject === 'string' ? subject : null,
    source,
    correlationId: typeof correlationid === 'string' ? correlationid : null,
  });
}

function standardEvent(value: unknown, messageId: string): One {
  if (!isObject(value)) return 'the body is not an object';
  const { type, timestamp: time } = value;
  if (!isName(type)) return 'type is missing';
  return event(value, { messageId, eventType: type, time, subject: null, source: null, correlationId: null });
}

type Named = Omit<ReceivedEvent, 'createdAt' | 'data' | 'url' | 'test'> & { readonly time: unknown };

function event(value: Readonly<Record<string, unknown>>, { time, ...named }: Named): One {
  const createdAt = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(createdAt)) return 'the time of the event is not an RFC 3339 timestamp';
  const { url, data } = value;
  if (!('data' in value) && !isName(url)) return 'both data and url are missing';
  return {
    ...named,
    createdAt,
    ...('data' in value ? { data, url: null } : { url: String(url) }),
    ...(value.test === true && { test: true as const }),
  };
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
