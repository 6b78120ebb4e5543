/** What the development receiver answers to a delivery: rightly, wrongly on purpose, or as the program that it forwards to. */
import { LISTEN_FORWARD_MS } from '../../kernel/limits/listen.ts';

/** What the command was told to do with deliveries. */
export type AnswerPlan = {
  /** Instead of a success. */
  readonly failure: { readonly status: number } | 'reset' | null;
  /** How many deliveries fail so; all of them where null. */
  readonly failFirst: number | null;
  readonly delayMs: number;
  /** Gets the decoded JSON of those that do not fail. */
  readonly forward: URL | null;
};

/** `onPurpose` says that the failure was asked for; `forwarded` what the program answered, in words. */
export type Answered = {
  readonly status: number | 'reset';
  readonly onPurpose: boolean;
  readonly forwarded: string | null;
};

/** Answers deliveries one after the other as planned; `json` is the decoded body. Never rejects. */
export function createAnswerer({
  failure,
  failFirst,
  delayMs,
  forward,
}: AnswerPlan): (json: Uint8Array) => Promise<Answered> {
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

/** The program's status is the answer, so that what it cannot take comes again; 502 where there was none. */
async function passOn(url: URL, json: Uint8Array): Promise<Answered> {
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
