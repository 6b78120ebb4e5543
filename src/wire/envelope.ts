/** The JSON body of a delivery: the records of one webhook in one attempt (wire.md §5 "Body"). Written and read here. */
import { type Failure, failure, type Verdict } from './verdict.ts';

/** One event as it lies in the outbox; `dataJson` is its data as JSON text and goes out as it is. */
export type EnvelopeRecord = {
  readonly offset: number;
  /** Epoch milliseconds of the event. */
  readonly createdAt: number;
  readonly correlationId: string;
  readonly messageId: string;
  readonly eventType: string;
  readonly actorId: string | null;
  readonly dataJson: string;
};

/** `attemptNumber` counts from 1; `now` is the moment of the attempt in epoch milliseconds; a heartbeat has no records. */
export type EnvelopeToEncode = {
  readonly subscriptionId: string;
  readonly sessionId: string;
  readonly attemptNumber: number;
  readonly records: readonly EnvelopeRecord[];
  readonly now: number;
};

/** A record as a receiver gets it: the event's data parsed, and the seconds from the event to the attempt. */
export type ReceivedRecord = Omit<EnvelopeRecord, 'dataJson'> & { readonly lag: number; readonly data: unknown };

export type Envelope = {
  readonly subscriptionId: string;
  readonly sessionId: string;
  readonly attemptNumber: number;
  readonly records: readonly ReceivedRecord[];
};

export type EnvelopeFailureCode = 'malformed_json' | 'malformed_envelope';

export type EnvelopeVerdict = Verdict<EnvelopeFailureCode, { readonly envelope: Envelope }>;

/** The key of an event's data: `employee.created` → `employeeCreated`; `.`, `_` and `-` all part words. */
export function eventTypeKey(eventType: string): string {
  return eventType.replace(/[._-]+(.?)/gu, (_, first: string) => first.toUpperCase());
}

/** The body in UTF-8. Event data is spliced in as stored: it was validated once, when it was published. */
export function encodeEnvelope({
  subscriptionId,
  sessionId,
  attemptNumber,
  records,
  now,
}: EnvelopeToEncode): Uint8Array {
  const head = JSON.stringify({ subscriptionId, sessionId, attemptNumber }).slice(0, -1);
  return new TextEncoder().encode(
    `${head},"records":[${records.map((record) => encodeRecord(record, now)).join(',')}]}`,
  );
}

/** Reads a body, checking every member that the contract has; members that it does not have are let be. Never throws. */
export function parseEnvelope(text: string): EnvelopeVerdict {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return failure('malformed_json', 'the body is not JSON');
  }
  if (!isObject(value)) return malformed('the body', 'an object');
  const { subscriptionId, sessionId, attemptNumber, records } = value;
  if (typeof subscriptionId !== 'string') return malformed('subscriptionId', 'a string');
  if (typeof sessionId !== 'string') return malformed('sessionId', 'a string');
  if (!isCount(attemptNumber, 1)) return malformed('attemptNumber', 'an integer from 1');
  if (!Array.isArray(records)) return malformed('records', 'a list');
  const received: ReceivedRecord[] = [];
  for (const [index, record] of records.entries()) {
    const parsed = parseRecord(record, `records[${index}]`);
    if (!parsed.ok) return parsed;
    received.push(parsed.record);
  }
  return { ok: true, envelope: { subscriptionId, sessionId, attemptNumber, records: received } };
}

function encodeRecord(record: EnvelopeRecord, now: number): string {
  const { offset, createdAt, correlationId, messageId, eventType, actorId, dataJson } = record;
  const head = JSON.stringify({
    offset,
    timestamp: new Date(createdAt).toISOString(),
    // The clock may have been set back since the event.
    lag: Math.max(0, now - createdAt) / 1000,
    correlationId,
  }).slice(0, -1);
  const headers = JSON.stringify({ messageId, eventType, actorId, correlationId });
  return `${head},"value":{"headers":${headers},${JSON.stringify(eventTypeKey(eventType))}:${dataJson}}}`;
}

type ParsedRecord = { readonly ok: true; readonly record: ReceivedRecord } | Failure<'malformed_envelope'>;

function parseRecord(record: unknown, at: string): ParsedRecord {
  if (!isObject(record)) return malformed(at, 'an object');
  const { offset, timestamp, lag, correlationId, value } = record;
  if (!isCount(offset, 0)) return malformed(`${at}.offset`, 'an integer from 0');
  const createdAt = parseTimestamp(timestamp);
  if (createdAt === null) return malformed(`${at}.timestamp`, 'an ISO 8601 UTC timestamp with milliseconds');
  if (typeof lag !== 'number' || lag < 0) return malformed(`${at}.lag`, 'a number of seconds');
  if (typeof correlationId !== 'string') return malformed(`${at}.correlationId`, 'a string');
  if (!isObject(value)) return malformed(`${at}.value`, 'an object');
  const { headers } = value;
  if (!isObject(headers)) return malformed(`${at}.value.headers`, 'an object');
  const { messageId, eventType, actorId } = headers;
  if (typeof messageId !== 'string') return malformed(`${at}.value.headers.messageId`, 'a string');
  if (typeof eventType !== 'string') return malformed(`${at}.value.headers.eventType`, 'a string');
  if (actorId !== null && typeof actorId !== 'string') {
    return malformed(`${at}.value.headers.actorId`, 'a string or null');
  }
  const key = eventTypeKey(eventType);
  if (!Object.hasOwn(value, key)) return malformed(`${at}.value.${key}`, `there, as the data of ${eventType}`);
  const data = value[key];
  return { ok: true, record: { offset, createdAt, lag, correlationId, messageId, eventType, actorId, data } };
}

function parseTimestamp(text: unknown): number | null {
  const at = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString() === text ? at : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least;
}

function malformed(member: string, wanted: string): Failure<'malformed_envelope'> {
  return failure('malformed_envelope', `${member} is not ${wanted}`);
}
