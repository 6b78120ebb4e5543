/** How much may depart in one turn of the event loop: less where somebody waits for this process to answer requests. */
import { CALLED_LATELY_MS, DELIVERY_BYTES_PER_CALLED_TURN, DELIVERY_BYTES_PER_TURN } from '../limits.ts';

/**
 * Answers the bytes of the turn that begins. `answeredRequests` counts those that were answered by now; `now` is in milliseconds. At full
 * load there are turns without a request between those with many, and what departs in them delays the next ones alike.
 */
export function createQuota(answeredRequests: () => number, now: () => number): () => number {
  let before = answeredRequests();
  let calledUntil = Number.NEGATIVE_INFINITY;
  return () => {
    const answered = answeredRequests();
    if (answered !== before) calledUntil = now() + CALLED_LATELY_MS;
    before = answered;
    return now() < calledUntil ? DELIVERY_BYTES_PER_CALLED_TURN : DELIVERY_BYTES_PER_TURN;
  };
}
