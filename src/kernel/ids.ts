/**
 * Identifiers in order of time (RFC 9562 UUIDv7), the integer row keys inside them, and random bytes.
 *
 * A row key is `milliseconds × 2048 + counter`, below 2⁵³ until the year 2109, so that rows are stored in the order in which they are
 * written. The UUID of a row carries the row key in its first 60 bits, so it needs no index.
 */
import { randomFillSync } from 'node:crypto';

/** Milliseconds since 1970, as `Date.now`. */
export type Clock = () => number;
/** `size` unpredictable bytes. */
export type Random = (size: number) => Uint8Array;

export type Ids = {
  /** The next row key, larger than every earlier one from this source and than `above`, which another process may have created. */
  rowKey(above?: number): number;
  /** A UUIDv7 whose row key is `rowKeyOf(uuid)`. */
  uuid(): string;
};

const COUNTERS_PER_MS = 2048;

/**
 * A source of keys and UUIDs. In each millisecond, the counter starts at a random value in its lower half, so that two processes with
 * one database rarely create the same key; if they do, the primary key refuses it and the writer tries again (`retryStale`). More than
 * 1,024 keys in a millisecond continue into the next one: the order is kept, and the time in the key runs slightly ahead. `after` is the
 * largest key in use, from which keys continue if the clock was set back.
 */
export function createIds(clock: Clock, random: Random, after = 0): Ids {
  let last = after;
  const rowKey = (above = 0): number => {
    if (above > last) last = above;
    const earliest = clock() * COUNTERS_PER_MS;
    if (earliest + COUNTERS_PER_MS / 2 > last) {
      const [high = 0, low = 0] = random(2);
      last = Math.max(last + 1, earliest + (((high << 8) | low) % (COUNTERS_PER_MS / 2)));
    } else {
      last += 1;
    }
    return last;
  };
  return { rowKey, uuid: () => uuidWithRowKey(rowKey(), random) };
}

/** The row key in a UUIDv7 from `createIds`. The caller must compare the whole id with the stored one. */
export function rowKeyOf(uuid: string): number {
  return millisecondsOf(uuid) * COUNTERS_PER_MS + (Number.parseInt(uuid.slice(15, 18), 16) % COUNTERS_PER_MS);
}

/** The first row key of a millisecond: rows written at or after `at` have this key or a larger one. */
export function firstRowKeyAt(at: number): number {
  return at * COUNTERS_PER_MS;
}

/** The millisecond in which a row key was created. */
export function rowKeyTime(rowKey: number): number {
  return Math.floor(rowKey / COUNTERS_PER_MS);
}

export const UUID_V7: RegExp = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Whether the text is a UUIDv7 in lower case, as all ids are. */
export function isUuidV7(text: string): boolean {
  return UUID_V7.test(text);
}

/** The place of a delivery. Its id contains the place, so no index of ids is needed. */
export type DeliveryAddress = { readonly createdAt: number; readonly webhookNumber: number; readonly offset: number };

/** The UUIDv7 of a delivery: the event's millisecond, then 26 bits of webhook number and 48 bits of offset. */
export function deliveryId({ createdAt, webhookNumber, offset }: DeliveryAddress): string {
  const a = webhookNumber >> 14;
  const b = (2n << 62n) | (BigInt(webhookNumber & 0x3fff) << 48n) | BigInt(offset);
  const tail = b.toString(16);
  return formatUuid(createdAt, a, tail);
}

/** The inverse of `deliveryId`; null if the text is not a UUIDv7. The delivery may not exist. */
export function deliveryAddress(id: string): DeliveryAddress | null {
  if (!isUuidV7(id)) return null;
  const a = Number.parseInt(id.slice(15, 18), 16);
  const b = BigInt(`0x${id.slice(19, 23)}${id.slice(24)}`);
  return {
    createdAt: millisecondsOf(id),
    webhookNumber: a * 16384 + Number((b >> 48n) & 0x3fffn),
    offset: Number(b & 0xffff_ffff_ffffn),
  };
}

/** A batch by its first record's time, its webhook and its offsets: the same records of a webhook always make the same id. */
type BatchAddress = {
  readonly createdAt: number;
  readonly webhookNumber: number;
  readonly first: number;
  readonly last: number;
};

/** The UUIDv7 of a batch of at most 1,024 records: the millisecond, 26 bits of webhook number, 38 bits of offset and 10 bits of length. */
export function batchId({ createdAt, webhookNumber, first, last }: BatchAddress): string {
  return deliveryId({ createdAt, webhookNumber, offset: first * BATCH_LENGTHS + (last - first) });
}

const BATCH_LENGTHS = 1024;

/** Nine webhook numbers from the random bits of a UUIDv7: 26 bits each, from overlapping places. */
export function webhookNumbersIn(uuid: string): readonly number[] {
  const random = uuid.slice(20, 23) + uuid.slice(24);
  const all = Array.from({ length: 9 }, (_, at) => Number.parseInt(random.slice(at, at + 7), 16) & 0x3ff_ffff);
  return all.filter((number) => number > 0);
}

function uuidWithRowKey(rowKey: number, random: Random): string {
  const bytes = random(8);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x80;
  let tail = '';
  for (const byte of bytes) tail += HEX[byte];
  return formatUuid(rowKeyTime(rowKey), rowKey % COUNTERS_PER_MS, tail);
}

function formatUuid(at: number, randA: number, tail: string): string {
  const time = at.toString(16).padStart(12, '0');
  const a = randA.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${a}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}

function millisecondsOf(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

// Random bytes are read from the system in large pools: a system call per token would cost more than the rest of the token.
const POOL_BYTES = 16 * 1024;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** `size` random bytes. Each is used once and erased from the pool. */
export function randomBytes(size: number): Uint8Array {
  if (size > POOL_BYTES) return randomFillSync(new Uint8Array(size));
  if (used + size > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = pool.slice(used, used + size);
  pool.fill(0, used, used + size);
  used += size;
  return bytes;
}
