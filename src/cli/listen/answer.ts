/** The replies of the development receiver to deliveries: success, a planned failure, or the reply of another program. */

import { LISTEN_FORWARD_MS } from './limits.ts';

/** The options for deliveries. */
export type AnswerPlan = {
  /** The reply instead of success. */
  readonly failure: { readonly status: number } | 'reset' | null;
  /** Number of deliveries that fail; null for all. */
  readonly failFirst: number | null;
  readonly delayMs: number;
  /** Receives the decoded JSON of deliveries that do not fail. */
  readonly forward: URL | null;
};

/** `onPurpose`: a planned failure. `forwarded`: describes the reply of the other program. */
export type ListenAnswer = {
  readonly status: number | 'reset';
  readonly onPurpose: boolean;
  readonly forwarded: string | null;
};

/** Answers deliveries as planned. `json`: the decoded body. Never rejects. */
export function createAnswerer({
  failure,
  failFirst,
  delayMs,
  forward,
}: AnswerPlan): (json: Uint8Array) => Promise<ListenAnswer> {
  let failuresLeft = failFirst ?? Number.POSITIVE_INFINITY;
  return async (json) => {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    if (failure !== null && failuresLeft > 0) {
      failuresLeft -= 1;
      return { status: failure === 'reset' ? failure : failure.status, onPurpose: true, forwarded: null };
    }
    if (forward === null) return { status: 204, onPurpose: false, forwarded: null };
    return passOn(forward, json);
  };
}

/** Replies with the status of the program, so that failures are retried; 502 if it did not answer. */
async function passOn(url: URL, json: Uint8Array): Promise<ListenAnswer> {
  const since = performance.now();
  const took = (): string => `in ${Math.round(performance.now() - since)} ms`;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Blob([json as Uint8Array<ArrayBuffer>]),
      redirect: 'manual',
      signal: AbortSignal.timeout(LISTEN_FORWARD_MS),
    });
    await response.body?.cancel();
    return {
      status: response.status,
      onPurpose: false,
      forwarded: `${url.href} answered ${response.status} ${took()}`,
    };
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
    return { status: 502, onPurpose: false, forwarded: `${url.href} did not answer: ${reason} (${took()})` };
  }
}
