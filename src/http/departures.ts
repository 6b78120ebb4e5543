/**
 * Replies leave when what can be read in a turn of the event loop has been, one right after the other: a client that is woken by the first finds the
 * others too. Written each as soon as it is known, at full load every one woke its reader anew, which was a third of a request's cost.
 * Of many, so many at a time: whoever has been answered works on while the others are.
 */
import type { ServerResponse } from 'node:http';
import { REPLIES_PER_DEPARTURE } from '../limits.ts';
import type { Log } from '../log.ts';

/** Does what sends a reply, later in this turn. What it throws is logged, and ends that response alone. */
export type Depart = (response: ServerResponse, send: () => void) => void;

export function createDepartures(log: Log): Depart {
  let waiting: (() => void)[] = [];
  let isTurnsEndAwaited = false;
  const sendAll = (): void => {
    const all = waiting;
    waiting = [];
    for (const send of all) send();
  };
  const endTurn = (): void => {
    isTurnsEndAwaited = false;
    sendAll();
  };
  return (response, send) => {
    // Those before alone: of the latest request the parser may not have said yet that it has ended.
    if (waiting.length >= REPLIES_PER_DEPARTURE) sendAll();
    waiting.push(() => {
      try {
        send();
      } catch (error) {
        log.error({ err: error }, 'a reply broke off');
        response.destroy();
      }
    });
    if (!isTurnsEndAwaited) setImmediate(endTurn);
    isTurnsEndAwaited = true;
  };
}
