/** The body of a delivery (contract §5.2, §5.4): from the records of a batch to bytes with their headers. */

import type { DeliveryTarget, LogRecord } from '../domain/batch.ts';
import { encryptionNeed, type FormattedRecord } from '../domain/event.ts';
import { type Failure, failure } from '../domain/outcome.ts';
import type { WebhookConfiguration } from '../domain/webhook.ts';
import { carriesSeveral, type EventFormat } from '../domain/webhook-format.ts';
import type { ReadRecords } from '../store/port/dispatch.ts';
import { DatabaseUnavailable } from '../store/port/errors.ts';
import { encodeEvents } from '../wire/event-format.ts';
import {
  type ContentHeaders,
  contentHeaders,
  type EnvelopeToEncode,
  encodeEnvelope,
  encodePayload,
  type PayloadEncoding,
} from '../wire/payload.ts';
import { keyErrorCode } from '../wire/pgp.ts';

/**
 * Everything but the records. `now` is the time of the attempt, in epoch milliseconds. Plain values, so that it can be sent to a thread.
 */
export type BodyRequest = Omit<EnvelopeToEncode, 'records'> &
  Omit<PayloadEncoding, 'now' | 'content'> & {
    /** Absent: the body has records. */
    readonly format?: EventFormat | undefined;
  };

/** `headers`: encoding, hash and `date`. `messageId`: the `webhook-id` that the format gives the request. */
export type DeliveryBody = {
  readonly ok: true;
  readonly bytes: Uint8Array;
  readonly messageId?: string | undefined;
  readonly headers: Readonly<Record<string, string>> & ContentHeaders;
};

/** If encryption fails, the attempt fails. The body is never sent unencrypted instead. */
export type BodyOrFailure = DeliveryBody | Failure;

/**
 * The body of a batch: of its records from `firstOffset` to `lastOffset`, both included. `parsed`: their JSON is parsed first. Parsing 1
 * KiB takes up to 10 µs, as long as everything else that is done for a record, so records are parsed only after something has gone wrong
 * with the batch.
 */
export type BatchBodyRequest = BodyRequest & {
  readonly webhookNumber: number;
  readonly firstOffset: number;
  readonly lastOffset: number;
  readonly parsed: boolean;
};

/**
 * The batch is halved without an attempt: a stored record is damaged, or the batch was claimed before the webhook got a format that carries
 * one event a request.
 */
type Unreadable = { readonly unreadable: string; readonly isDamaged: boolean };

/**
 * `subjects`: the people that its records are about. `erased`: all its records have lost their payloads. `clear`: one of them must be
 * encrypted, and there is no key.
 */
export type BatchBody = (BodyOrFailure & { readonly subjects: readonly string[] }) | Unreadable | 'erased' | 'clear';

/** A target whose webhook is not stored. */
type PlannedTarget = Omit<DeliveryTarget, 'webhook'> & { readonly webhook: WebhookConfiguration };

/** The body that the settings of the webhook, its endpoint and its key ask for. */
export function bodyRequest(
  { webhook, endpoint, key }: PlannedTarget,
  attempt: Pick<BodyRequest, 'sessionId' | 'attemptNumber' | 'now'>,
): BodyRequest {
  return {
    ...attempt,
    subscriptionId: webhook.id,
    owner: webhook.customerId,
    gzip: endpoint.contentEncoding === 'gzip',
    encryption: key === null ? null : { keyName: key.name, publicKey: key.publicKey },
  };
}

/** Never throws because of the records or the key. */
export async function makeBody(request: BodyRequest, records: readonly FormattedRecord[]): Promise<BodyOrFailure> {
  const [first] = records;
  if (request.format !== undefined && first !== undefined)
    return makeFormattedBody(request, request.format, [first, ...records.slice(1)]);
  return encodeBody(request, encodeEnvelope({ ...request, records }));
}

async function makeFormattedBody(
  request: BodyRequest,
  format: EventFormat,
  records: readonly [FormattedRecord, ...FormattedRecord[]],
): Promise<BodyOrFailure> {
  const { body, headers } = encodeEvents({ ...format, test: request.more?.test === true }, records);
  const encoded = await encodeBody(request, body, headers);
  return encoded.ok && format.format === 'standard' ? { ...encoded, messageId: records[0].messageId } : encoded;
}

/** Compresses and encrypts a body as the request says. `content`: the headers of the body before encryption. */
export async function encodeBody(
  { now, gzip, encryption, owner }: Pick<BodyRequest, 'now' | 'gzip' | 'encryption' | 'owner'>,
  clear: Uint8Array,
  content?: Readonly<Record<string, string>>,
): Promise<BodyOrFailure> {
  try {
    const how = { gzip, encryption, now, owner, ...(content !== undefined && { content }) };
    const { bytes, headers } = await encodePayload(clear, how);
    return { ok: true, bytes, headers: { ...headers, ...contentHeaders(bytes, now) } };
  } catch (error) {
    return encryptionFailure(error);
  }
}

/** Reads the records now, not at the claim: data erased since is not sent, and memory holds only the current requests. */
export async function makeBatchBody(request: BatchBodyRequest, read: ReadRecords): Promise<BatchBody> {
  const all = await readAll(request, read);
  if ('unreadable' in all) return all;
  const records = all.filter((record): record is LogRecord & { dataJson: string } => record.dataJson !== null);
  if (records.length === 0) return 'erased';
  if (request.encryption === null && someMustBeEncrypted(records)) return 'clear';
  const { format } = request;
  if (records.length > 1 && format !== undefined && !carriesSeveral(format))
    return { unreadable: 'a request carries one event', isDamaged: false };
  const subjects = new Set(records.flatMap(({ subject }) => (subject === null ? [] : [subject])));
  return { ...(await makeBody(request, records)), subjects: [...subjects] };
}

async function readAll(
  { webhookNumber, firstOffset, lastOffset, parsed }: BatchBodyRequest,
  read: ReadRecords,
): Promise<LogRecord[] | Unreadable> {
  let all: LogRecord[];
  try {
    all = await read(webhookNumber, firstOffset, lastOffset);
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable) || error.reason !== 'damaged') throw error;
    return { unreadable: `records ${firstOffset} to ${lastOffset} cannot be read: ${error.message}`, isDamaged: true };
  }
  for (let offset = firstOffset; offset <= lastOffset; offset += 1) {
    const problem = problemOf(all[offset - firstOffset], offset, parsed);
    if (problem !== null) return { unreadable: `record ${offset} cannot be read: ${problem}`, isDamaged: true };
  }
  return all;
}

/** The problem of a stored record, or null. Its data was valid when it was published. */
function problemOf(record: LogRecord | undefined, offset: number, parsed: boolean): string | null {
  if (record?.offset !== offset) return 'its event is missing';
  if (Math.abs(record.createdAt) > LATEST_DATE_MS) return 'its time is not one';
  const { dataJson } = record;
  if (dataJson === null) return null;
  const isJson = parsed ? isObjectJson(dataJson) : dataJson.startsWith('{') && dataJson.endsWith('}');
  return isJson ? null : 'its data is not JSON';
}

/** The last instant that a `Date` can hold (ECMA-262 §21.4.1.1). */
const LATEST_DATE_MS = 8.64e15;

function isObjectJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}

/**
 * Whether one of the records must be encrypted. The webhook's subscriptions are checked when it is configured, but its log may hold records
 * from when it had a key.
 */
export function someMustBeEncrypted(records: readonly Pick<LogRecord, 'eventType' | 'encryptionRequired'>[]): boolean {
  return records.some(
    ({ eventType, encryptionRequired }) => encryptionRequired === 1 || encryptionNeed([eventType], []) !== null,
  );
}

function encryptionFailure(error: unknown): Failure {
  const code = keyErrorCode(error);
  const reason = error instanceof Error ? error.message : 'unknown';
  return failure('encryption', code === null ? `the payload could not be encrypted: ${reason}` : `${code}: ${reason}`);
}
