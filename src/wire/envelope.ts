/** Reads the JSON body of a delivery: the records of one webhook in one attempt (contract §5.2). The inverse is `payload.ts`. */
import { type Rejection, reject, type Verdict } from './verdict.ts';

/** A record as a receiver gets it. Its types are here, because a receiver has none of the sender's. */
export type ReceivedRecord = {
  readonly offset: number;
  /** Epoch milliseconds of the event. */
  readonly createdAt: number;
  /** Seconds from the event to the attempt. */
  readonly lag: number;
  readonly correlationId: string;
  readonly messageId: string;
  readonly eventType: string;
  readonly actorId: string | null;
  /** Parsed. */
  readonly data: unknown;
};

export type Envelope = {
  readonly subscriptionId: string;
  readonly sessionId: string;
  readonly attemptNumber: number;
  readonly records: readonly ReceivedRecord[];
};

export type EnvelopeFailureCode = 'malformed_json' | 'malformed_envelope';

type EnvelopeVerdict = Verdict<EnvelopeFailureCode, { readonly envelope: Envelope }>;

/** The key of an event's data: `employee.created` → `employeeCreated`. `.`, `_` and `-` separate words. */
export function eventTypeKey(eventType: string): string {
  return eventType.replace(/[._-]+(.?)/gu, (_, first: string) => first.toUpperCase());
}

/** Reads a body and checks every member of the contract. Unknown members are kept. Never throws. */
export function parseEnvelope(body: Uint8Array): EnvelopeVerdict {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return reject('malformed_json', 'the body is not JSON in UTF-8');
  }
  let problem = problemOf(value, '', ENVELOPE);
  if (problem !== null) return problem;
  const members = value as EnvelopeMembers;
  const records: ReceivedRecord[] = [];
  for (const [index, record] of members.records.entries()) {
    problem = problemOf(record, `records[${index}].`, RECORD);
    if (problem !== null) return problem;
    const { timestamp, value, ...rest } = record;
    const { headers } = value;
    const key = eventTypeKey(headers.eventType);
    if (!Object.hasOwn(value, key)) {
      return reject(
        'malformed_envelope',
        `records[${index}].value.${key}, the data of ${headers.eventType}, is missing`,
      );
    }
    records.push({ ...rest, ...headers, createdAt: Date.parse(timestamp), data: value[key] });
  }
  return { ok: true, envelope: { ...members, records } };
}

type EnvelopeMembers = Omit<Envelope, 'records'> & { readonly records: readonly RecordMembers[] };
type RecordMembers = Pick<ReceivedRecord, 'offset' | 'lag' | 'correlationId'> & {
  readonly timestamp: string;
  readonly value: Readonly<Record<string, unknown>> & {
    readonly headers: Pick<ReceivedRecord, 'messageId' | 'eventType' | 'actorId'>;
  };
};

/** By path, what each member must be: a description, and a check. */
type Shape = Readonly<Record<string, Wanted>>;
type Wanted = readonly [description: string, check: (value: unknown) => boolean];

const TEXT: Wanted = ['a string', isText];
const ENVELOPE: Shape = {
  subscriptionId: TEXT,
  sessionId: TEXT,
  attemptNumber: ['an integer from 1', (value) => isCount(value) && value !== 0],
  records: ['a list', Array.isArray],
};
const RECORD: Shape = {
  offset: ['an integer from 0', isCount],
  timestamp: ['an ISO 8601 UTC timestamp with milliseconds', isTimestamp],
  lag: ['a number of seconds', (value) => typeof value === 'number' && value >= 0],
  correlationId: TEXT,
  'value.headers.messageId': TEXT,
  'value.headers.eventType': TEXT,
  'value.headers.actorId': ['a string or null', (value) => value === null || isText(value)],
};

/** `at` is the prefix of paths in messages. */
function problemOf(value: unknown, at: string, shape: Shape): Rejection<'malformed_envelope'> | null {
  for (const [path, [wanted, check]] of Object.entries(shape)) {
    const member = path.split('.').reduce((object, name) => (object as Record<string, unknown> | null)?.[name], value);
    if (!check(member)) return malformed(at + path, wanted);
  }
  return null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Checks for a string first: `new Date(object)` would call the object's own `valueOf`. */
function isTimestamp(value: unknown): boolean {
  return isText(value) && new Date(value).toJSON() === value;
}

function malformed(member: string, wanted: string): Rejection<'malformed_envelope'> {
  return reject('malformed_envelope', `${member} is not ${wanted}`);
}
