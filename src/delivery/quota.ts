/** How much departs in a turn of the event loop, and when: less where somebody waits for this process to answer requests. */
import {
  CALLED_LATELY_MS,
  CALLED_PAUSE_MS,
  CALLS_QUEUED,
  DELIVERY_BYTES_PER_CALLED_TURN,
  DELIVERY_BYTES_PER_TURN,
} from '../kernel/limits/delivery.ts';

export type Quota = {
  /** The bytes of the turn that begins. */
  bytesPerTurn(): number;
  /** How long the next turn is put off, in milliseconds; asked once before each. */
  pauseMs(): number;
  /** To be told when a turn ends. */
  turnEnded(): void;
};

/**
 * `answeredRequests` counts those that were answered by now; `now` is in milliseconds. At full load there are turns without a request
 * between those with many, and what departs in them delays the next ones alike. Where many are answered between two departures they
 * queue up, however fast the machine is: what departs takes from them then, and its next turn begins no earlier than `CALLED_PAUSE_MS`
 * after the one before. What departs less often than that waits for nobody: an ordered webhook would lose the pause with every batch.
 */
export function createQuota(answeredRequests: () => number, now: () => number): Quota {
  let before = answeredRequests();
  let calledUntil = Number.NEGATIVE_INFINITY;
  let answeredBefore = before;
  let endedAt = Number.NEGATIVE_INFINITY;
  return {
    bytesPerTurn: () => {
      const answered = answeredRequests();
      if (answered !== before) calledUntil = now() + CALLED_LATELY_MS;
      before = answered;
      return now() < calledUntil ? DELIVERY_BYTES_PER_CALLED_TURN : DELIVERY_BYTES_PER_TURN;
    },
    pauseMs: () => {
      const answered = answeredRequests() - answeredBefore;
      answeredBefore += answered;
      return answered < CALLS_QUEUED ? 0 : Math.max(0, endedAt + CALLED_PAUSE_MS - now());
    },
    turnEnded: () => {
      endedAt = now();
    },
  };
}
