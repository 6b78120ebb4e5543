/** The replies of the development receiver to deliveries: success, a planned failure, or the reply of another program. */

import { LISTEN_FORWARD_MS } from './limits.ts';

/** The options for deliveries. */
export type AnswerPlan = {
  /** The reply instead of success. */
  readonly failure: { readonly status: number } | 'reset' | null;
  /** Number of deliveries that fail; null for all. */
  readonly failFirst: number | null;
  readonly delayMs: number;
  /** Receives the decoded body of deliveries that do not fail. */
  readonly forward: URL | null;
};

/** `onPurpose`: a planned failure. `forwarded`: describes the reply of the other program. */
export type ListenAnswer = {
  readonly status: number | 'reset';
  readonly onPurpose: boolean;
  readonly forwarded: string | null;
};

/** Answers deliveries as planned. `body` is decoded; `headers` describe it. Never rejects. */
export function createAnswerer({
  failure,
  failFirst,
  delayMs,
  forward,
}: AnswerPlan): (body: Uint8Array, headers: Readonly<Record<string, string>>) => Promise<ListenAnswer> {
  let failuresLeft = failFirst ?? Number.POSITIVE_INFINITY;
  return async (body, headers) => {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    if (failure !== null && failuresLeft > 0) {
      failuresLeft -= 1;
      return { status: failure === 'reset' ? failure : failure.status, onPurpose: true, forwarded: null };
    }
    if (forward === null) return { status: 204, onPurpose: false, forwarded: null };
    return passOn(forward, body, headers);
  };
}

/** Replies with the status of the program, so that failures are retried; 502 if it did not answer. */
async function passOn(url: URL, body: Uint8Array, headers: Readonly<Record<string, string>>): Promise<ListenAnswer> {
  const since = performance.now();
  const took = (): string => `in ${Math.round(performance.now() - since)} ms`;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: new Blob([body as Uint8Array<ArrayBuffer>]),
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
