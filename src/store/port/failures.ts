/** Failed authentications of the last minute (contract §2.6). In memory on SQLite, shared by all instances on PostgreSQL. */
import type { Attempt } from '../../domain/throttle.ts';
import type { Answer } from './database.ts';

/**
 * Call `blockedForMs` before checking the credentials. Afterwards call it again, or `blockedHereForMs`, or `countFailure`, and use the
 * outcome as soon as it answers. The second call bounds concurrent attempts: however many were admitted together, only the outcomes of the
 * first ten (or hundred) failures are revealed. Counting attempts in advance would bound that too, but would refuse a client that makes
 * eleven valid requests at the same time.
 *
 * A success is not revealed if the failures before it block the attempt. This holds for all failures of the same process: the second call
 * waits for failures that are being counted. On PostgreSQL, failures that other instances are counting at that moment do not hold the
 * success back.
 */
export type Throttle = {
  /** Milliseconds until such an attempt is admitted again, or null if it is admitted now. */
  blockedForMs(attempt: Attempt, now: number): Answer<number | null>;
  /**
   * The same after a success, but answers null immediately if this process counted no failure of the network in the last minute. Failures
   * that other instances have counted since `blockedForMs` then do not block the attempt.
   */
  blockedHereForMs(attempt: Attempt, now: number): Answer<number | null>;
  /** Counts a failure and returns null. If the attempt is blocked by now, counts nothing and returns as `blockedForMs`. */
  countFailure(attempt: Attempt, now: number): Answer<number | null>;
};

/** Failures of one purpose do not block attempts of another. */
export type FailurePurpose = 'client' | 'sign-in';

export type FailureStore = {
  /** `remembered` bounds the failures in memory, of all networks together. */
  throttle(purpose: FailurePurpose, remembered?: number): Throttle;
};
