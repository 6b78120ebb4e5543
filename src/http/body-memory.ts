/**
 * The memory of bodies that arrive in parts. It grows with the bytes that have arrived, never with the announced size, and counts towards
 * what all bodies, and those of one caller, may hold until their replies are made.
 */

import { createFairQueue, type FairQueue, type Owner } from '../kernel/fair-queue.ts';
import { freeMemory } from '../kernel/own-memory.ts';
import { Refusal } from '../kernel/refusal.ts';
import { createTurns, type Turns } from '../kernel/turns.ts';

/** Bytes of bodies that have arrived and are not answered: of all, and of one customer, client or network. The first piece of memory. */
const BODIES_BYTES: number = 128 * 1024 * 1024;

const BODIES_BYTES_PER_OWNER: number = 32 * 1024 * 1024;

export const BODY_FIRST_BYTES: number = 16 * 1024;

export type BodyMemory = {
  /**
   * Copies the chunk, which cannot be read afterwards. Throws 429 if the bodies of the owner hold too many bytes, 503 if those of all do.
   */
  add(chunk: Uint8Array): void;
  /** The bytes that were added, in memory that the caller may keep. */
  whole(): Buffer;
  /** Resolves when it is the owner's turn to read more. */
  turn(): Promise<void>;
  /** Gives the memory back. */
  close(): void;
};

export function createBodies(
  places: number = BODIES_BYTES,
  placesPerOwner: number = BODIES_BYTES_PER_OWNER,
): FairQueue {
  return createFairQueue({ what: 'bytes of bodies in progress', places, placesPerOwner });
}

/**
 * The turns in which bodies are read further, one body in each turn of the event loop: a request that is not paused is read until its
 * socket is empty, megabytes in one turn.
 */
export const readingTurns: Turns = createTurns();

/**
 * `owner`: the customer or client that sends the body, or its network before it is authenticated. `most`: how many bytes are expected at
 * most.
 */
export function bodyMemory(bodies: FairQueue, owner: Owner, most: number): BodyMemory {
  const held: (() => void)[] = [];
  let memory = Buffer.alloc(0);
  let size = 0;
  let isKept = false;
  /** Doubles, so that every byte is copied about once. */
  const growTo = (needed: number): void => {
    const capacity = Math.max(needed, Math.min(most, Math.max(BODY_FIRST_BYTES, memory.length * 2)));
    try {
      held.push(bodies.take(owner, capacity - memory.length));
    } catch (error) {
      // Nobody reads the rest of the body.
      if (error instanceof Refusal)
        throw new Refusal(error.code, error.message, { headers: { ...error.headers, Connection: 'close' } });
      throw error;
    }
    const larger = Buffer.allocUnsafeSlow(capacity);
    memory.copy(larger, 0, 0, size);
    freeMemory(memory);
    memory = larger;
  };
  return {
    add: (chunk) => {
      if (size + chunk.length > memory.length) growTo(size + chunk.length);
      memory.set(chunk, size);
      size += chunk.length;
      freeMemory(chunk);
    },
    whole: () => {
      isKept = true;
      return memory.subarray(0, size);
    },
    turn: () => readingTurns(owner, async () => {}),
    close: () => {
      if (!isKept) freeMemory(memory);
      memory = Buffer.alloc(0);
      for (const release of held.splice(0)) release();
    },
  };
}
