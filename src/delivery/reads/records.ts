/** Reads the records of a webhook as a delivery carries them (contract §9), for a receiver that lost some. */

import { z } from 'zod';
import type { FormattedRecord } from '../../domain/event.ts';
import type { PgpKey, Webhook } from '../../domain/webhook.ts';
import { createFairQueue, type FairQueue } from '../../kernel/fair-queue.ts';
import type { Clock, Ids } from '../../kernel/ids.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { DispatchVerbs } from '../../store/port/dispatch.ts';
import type { Store } from '../../store/port/store.ts';
import type { WebhookVerbs } from '../../store/port/webhooks.ts';
import { refuseStoppedPull } from '../../webhooks/acknowledge.ts';
import { isExpired } from '../../webhooks/keys.ts';
import { encodePlacedEvents } from '../../wire/event-format.ts';
import { encodeEnvelope } from '../../wire/payload.ts';
import { encodeBody, someMustBeEncrypted } from '../body.ts';
import type { FormatOf } from '../format.ts';
import type { LogWatch } from './log-watch.ts';

/** The limits of one read: bytes of data, the same as of a batch; the most records; and how many records if the reader does not say. */
const RECORDS_BYTES: number = 1024 * 1024;
export const RECORDS_MAX = 1000;
export const RECORDS_DEFAULT = 100;

/** How long a reader may wait for the next record. */
export const RECORDS_WAIT_MAX_SECONDS = 30;

/** Bodies of reads that are made at the same time, in all and of one customer, and how many reads of it may wait for that. */
const RECORDS_READING = 4;
export const RECORDS_READING_PER_CUSTOMER = 2;
export const RECORDS_READS_WAITING_PER_CUSTOMER = 100;

type RecordsQuery = {
  /** The offset of the last record that the reader has; -1: none. Null: in mode `pull` the acknowledged offset, otherwise -1. */
  readonly after: number | null;
  readonly limit: number;
  /** How long to wait for the next record, in milliseconds. */
  readonly waitMs: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
};

/** A query whose `after` is known. */
type Place = RecordsQuery & { readonly after: number };

/** A body with the headers of its encoding. */
export type RecordsBody = { readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> };

/**
 * Reads records after an offset, at most `RECORDS_BYTES` of data. `maySee` is called after a wait and rejects if the caller's rights have
 * ended. Throws `Refusal` for an unknown webhook, for a stopped one in mode `pull`, for records that must be encrypted without a key or
 * with an expired one, and if too many reads of the customer, or of all, are in progress or wait.
 */
export type ReadRecordsOf = (
  webhookId: string,
  query: RecordsQuery,
  maySee?: () => Promise<unknown>,
) => Promise<RecordsBody>;

/** The input of a program; `wait` in seconds (contract §9). */
export const recordsInput = z.strictObject({
  after: z.int().min(-1).nullable().default(null),
  limit: z.int().min(1).max(RECORDS_MAX).default(RECORDS_DEFAULT),
  wait: z.int().min(0).max(RECORDS_WAIT_MAX_SECONDS).default(0),
});

type Dependencies = {
  readonly store: DispatchVerbs & WebhookVerbs & Pick<Store, 'confirm'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly webhooks: { get(id: string): Promise<Webhook> };
  readonly logWatch: LogWatch;
  readonly formatOf: FormatOf;
};

export function createReadRecords({ store, clock, ids, webhooks, logWatch, formatOf }: Dependencies): ReadRecordsOf {
  /** The offsets of the next records that fit, or null. */
  const next = async ({ progress }: Webhook, { after, limit }: Place) => {
    const found = await store.dispatch.waiting(progress.webhookNumber, after + 1, limit);
    const [first] = found;
    if (first === undefined) return null;
    let last = first;
    let bytes = 0;
    for (const record of found) {
      bytes += record.bytes;
      if (record !== first && bytes > RECORDS_BYTES) break;
      last = record;
    }
    return { first: first.offset, last: last.offset };
  };

  const wait = async (webhook: Webhook, query: Place) => {
    const { customerId, progress } = webhook;
    await logWatch.wait(customerId, progress.webhookNumber, query.after, query.waitMs, query.signal);
    return query.signal.aborted ? null : next(webhook, query);
  };

  const readable = async (webhookId: string): Promise<Webhook> => {
    const webhook = await webhooks.get(webhookId);
    refuseStoppedPull(webhook);
    return webhook;
  };

  const bodyOf = async (webhook: Webhook, query: Place, found: Awaited<ReturnType<typeof next>>) => {
    const { webhookNumber, sessionId, nextOffset, cursorOffset } = webhook.progress;
    const readSinceMs = performance.now();
    const read = found === null ? [] : await store.dispatch.records(webhookNumber, found.first, found.last);
    // If they were lost with a server, others would get their offsets, and this reader would pass those over.
    if (found !== null) await store.confirm(readSinceMs);
    const records = read.filter((record): record is typeof record & FormattedRecord => record.dataJson !== null);
    const key = await currentKey(store, webhook, clock());
    if (key === null && someMustBeEncrypted(records))
      throw new Refusal('invalid_state', 'some of these records must be encrypted, and the webhook has no key');
    const newestOffset = Math.max(nextOffset - 1, found?.last ?? -1);
    const head = { subscriptionId: webhook.id, sessionId: sessionId ?? ids.uuid(), attemptNumber: 1 };
    const more = {
      throughOffset: found?.last ?? query.after,
      newestOffset,
      ...(webhook.mode === 'pull' && { acknowledgedOffset: cursorOffset - 1 }),
    };
    const format = await formatOf(webhook);
    const now = clock();
    const clear =
      format === undefined
        ? encodeEnvelope({ ...head, more, now, records })
        : encodePlacedEvents({ ...head, ...more }, format, records);
    const encryption = key === null ? null : { keyName: key.name, publicKey: key.publicKey };
    const body = await encodeBody({ now, gzip: false, encryption, owner: webhook.customerId }, clear);
    if (!body.ok) throw new Refusal('invalid_state', body.message);
    const { date: _date, ...headers } = body.headers;
    return { bytes: body.bytes, headers };
  };

  return async (webhookId, asked, maySee = async () => undefined) => {
    let webhook = await readable(webhookId);
    const after = asked.after ?? (webhook.mode === 'pull' ? webhook.progress.cursorOffset - 1 : -1);
    const query = { ...asked, after };
    let found = await next(webhook, query);
    if (found === null && query.waitMs > 0) {
      found = await wait(webhook, query);
      await maySee();
      webhook = await readable(webhookId);
    }
    return recordsReading.run(webhook.customerId, () => bodyOf(webhook, query, found));
  };
}

/** The key of a webhook, or null if it has none. Throws 409 if it has expired. */
export async function currentKey(
  { keys }: Pick<WebhookVerbs, 'keys'>,
  { customerId, encryptionKeyName }: Webhook,
  now: number,
): Promise<PgpKey | null> {
  const key = encryptionKeyName === null ? null : await keys.getByName(customerId, encryptionKeyName);
  if (key !== null && isExpired(key, now))
    throw new Refusal('invalid_state', `the records must be encrypted, and the key ${key.name} has expired`);
  return key;
}

/** One queue for the process: a body has up to 1 MiB, which takes the event loop about 10 ms. */
export const recordsReading: FairQueue = createFairQueue({
  what: 'reads of records',
  places: RECORDS_READING,
  placesPerOwner: RECORDS_READING_PER_CUSTOMER,
  waitingPerOwner: RECORDS_READS_WAITING_PER_CUSTOMER,
});
