/** Ends requests early. An `AbortController` for each delivery would cost 4 µs, mostly for the event that it never sends. */
export type Cancellation = {
  /** Why the requests are ended, as the subject and verb of a sentence; null while they go on. */
  reason: string | null;
  /** Called once, when the requests are ended. */
  readonly listeners: Set<() => void>;
};

export function createCancellation(): Cancellation {
  return { reason: null, listeners: new Set() };
}

export function cancel(cancellation: Cancellation, reason: string = 'the service stopped'): void {
  if (cancellation.reason !== null) return;
  cancellation.reason = reason;
  const listeners = [...cancellation.listeners];
  cancellation.listeners.clear();
  for (const listener of listeners) listener();
}
