/**
 * Replies leave when what can be read in a turn of the event loop has been, one right after the other: a client that is woken by the
 * first finds the others too. Written each as soon as it is known, at full load every one woke its reader anew, which was a third of a
 * request's cost; written 32 at a time, 64 clients got a tenth less.
 */
import type { ServerResponse } from 'node:http';
import type { Log } from '../observe/log.ts';

/** Does what sends a reply, later in this turn. What it throws is logged, and ends that response alone. */
export type Depart = (response: ServerResponse, send: () => void) => void;

export function createDepartures(log: Log): Depart {
  let waiting: (() => void)[] = [];
  const sendAll = (): void => {
    const all = waiting;
    waiting = [];
    for (const send of all) send();
  };
  return (response, send) => {
    const count = waiting.push(() => {
      try {
        send();
      } catch (error) {
        log.error({ err: error }, 'a reply broke off');
        response.destroy();
      }
    });
    if (count === 1) setImmediate(sendAll);
  };
}
