/** Reads the records of a webhook as a delivery carries them (contract §8 "Records"), for a receiver that lost some. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock, Ids } from '../kernel/ids.ts';
import { RECORDS_BYTES, RECORDS_LOOK_MS, RECORDS_WAITING } from '../kernel/limits/delivery.ts';
import { Refusal } from '../kernel/refusal.ts';
import type { Store } from '../store/store.ts';
import { isExpired } from '../webhooks/keys.ts';
import type { PgpKey, Webhook } from '../webhooks/webhook.ts';
import type { EnvelopeRecord } from '../wire/envelope.ts';
import { encryptionLookup, makeBody, someMustBeEncrypted } from './body.ts';

export type RecordsQuery = {
  /** The offset of the last record that the reader has; -1: none. */
  readonly after: number;
  readonly limit: number;
  /** How long to wait for the next record, in milliseconds. */
  readonly waitMs: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
};

/** A body with the headers that tell its encoding. */
export type RecordsBody = { readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> };

/**
 * Reads records after an offset, at most `RECORDS_BYTES` of data. `maySee` is called after a wait and rejects if the caller's rights have ended.
 * Throws `Refusal` for an unknown webhook, for records that must be encrypted without a key or with an expired one, and if too many wait.
 */
export type ReadRecordsOf = (
  webhookId: string,
  query: RecordsQuery,
  maySee: () => Promise<unknown>,
) => Promise<RecordsBody>;

type Dependencies = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly webhooks: { get(id: string): Promise<Webhook> };
};

export function createReadRecords({ store, clock, ids, webhooks }: Dependencies): ReadRecordsOf {
  let waiting = 0;

  /** The offsets of the next records that fit, or null. */
  const next = async ({ progress }: Webhook, { after, limit }: RecordsQuery) => {
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

  const wait = async (webhook: Webhook, query: RecordsQuery) => {
    if (waiting >= RECORDS_WAITING)
      throw new Refusal('unavailable', `${RECORDS_WAITING} readers wait for records already`, {
        headers: { 'Retry-After': '1' },
      });
    const until = performance.now() + query.waitMs;
    waiting += 1;
    try {
      for (;;) {
        const leftMs = until - performance.now();
        if (leftMs <= 0 || query.signal.aborted) return null;
        await pause(Math.min(leftMs, RECORDS_LOOK_MS), undefined, { signal: query.signal }).catch(() => undefined);
        const found = await next(webhook, query);
        if (found !== null) return found;
      }
    } finally {
      waiting -= 1;
    }
  };

  const keyOf = async ({ customerId, encryptionKeyName }: Webhook): Promise<PgpKey | null> => {
    const key = encryptionKeyName === null ? null : await store.keys.getByName(customerId, encryptionKeyName);
    if (key !== null && isExpired(key, clock()))
      throw new Refusal('invalid_state', `the records must be encrypted, and the key ${key.name} has expired`);
    return key;
  };

  return async (webhookId, query, maySee) => {
    let webhook = await webhooks.get(webhookId);
    let found = await next(webhook, query);
    if (found === null && query.waitMs > 0) {
      found = await wait(webhook, query);
      await maySee();
      webhook = await webhooks.get(webhookId);
    }
    const { webhookNumber, sessionId, nextOffset } = webhook.progress;
    const read = found === null ? [] : await store.dispatch.records(webhookNumber, found.first, found.last);
    const records = read.filter((record): record is typeof record & EnvelopeRecord => record.dataJson !== null);
    const key = await keyOf(webhook);
    const mustBeEncrypted = encryptionLookup(store.eventTypes);
    if (key === null && (await someMustBeEncrypted(records, { mustBeEncrypted })))
      throw new Refusal('invalid_state', 'some of these records must be encrypted, and the webhook has no key');
    const newestOffset = Math.max(nextOffset - 1, found?.last ?? -1);
    const body = await makeBody(
      {
        ...{
          subscriptionId: webhook.id,
          sessionId: sessionId ?? ids.uuid(),
          attemptNumber: 1,
          now: clock(),
          gzip: false,
        },
        encryption: key === null ? null : { keyName: key.name, publicKey: key.publicKey },
        more: { throughOffset: found?.last ?? query.after, newestOffset },
      },
      records,
    );
    if (!body.ok) throw new Refusal('invalid_state', body.message);
    const { date: _date, ...headers } = body.headers;
    return { bytes: body.bytes, headers };
  };
}
