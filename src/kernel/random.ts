/** Unpredictable bytes, read from the system in large pools: a system call per token would cost more than the rest of the token. */
import { randomFillSync } from 'node:crypto';

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
