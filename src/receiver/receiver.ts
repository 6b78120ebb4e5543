/** The customer's side of deliveries: verifies each request, hands over what is new, and says what to answer. */
import { MESSAGES_SEEN } from '../limits.ts';
import { challengeHeader } from '../wire/challenge-answer.ts';
import { SIGNATURE_SCHEME } from '../wire/signature.ts';
import { type OpenVerdict, openRequest } from './open.ts';
import { type ReceiverOptions, readOptions, type VerifyOptions } from './options.ts';
import { type Refusal, statusOf } from './refusals.ts';
import type { ReceivedRequest } from './request.ts';
import { createHandleOnce, memorySeen } from './seen.ts';

/** What to send back. `refusal` is null for what was taken, and for a failure of this side. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Text; null where the status has none. */
  readonly body: string | null;
  readonly refusal: Refusal | null;
};

export type Receiver = {
  /** Takes a request from its verification to the handling of its records. Never rejects: faults of this side are a 500. */
  receive(request: ReceivedRequest): Promise<Answer>;
};

export type Verifier<Events> = {
  /** Says what a request brings, or why it is refused, and does nothing with it: no handling, no memory of repeats. */
  verify(request: ReceivedRequest): Promise<OpenVerdict<Events>>;
};

/**
 * Makes a receiver; `nodeHandler`, `fetchHandler` and `fastifyPlugin` put it behind a server. Throws a TypeError for options
 * that cannot be meant, such as no secret.
 */
export function createReceiver<Events extends object = Record<string, unknown>>(
  options: ReceiverOptions<Events>,
): Receiver {
  const { onRecords, onRefusal, seen = memorySeen(MESSAGES_SEEN), onError = logError } = options;
  const { verify } = createVerifier<Events>(options);
  const handleOnce = createHandleOnce(seen);

  const take = async (request: ReceivedRequest): Promise<Answer> => {
    const opened = await verify(request);
    if (!opened.ok) {
      onRefusal?.(opened, request);
      return { ...answer(statusOf(opened), `${opened.code}: ${opened.description}`, HINTS), refusal: opened };
    }
    if (opened.kind === 'challenge') return answer(200, null, { [challengeHeader]: opened.answer });
    const { delivery } = opened;
    if (delivery.records.length > 0) await handleOnce(delivery.records, (fresh) => onRecords(fresh, delivery));
    return answer(204, null);
  };

  return {
    receive: (request) =>
      take(request).catch((error: unknown) => {
        onError(error, request);
        // What went wrong may name what is nobody else's business.
        return answer(500, 'failed: the receiver could not handle it');
      }),
  };
}

/** Only the verification of `createReceiver`, for programs that do the rest by themselves. */
export function createVerifier<Events extends object = Record<string, unknown>>(
  options: VerifyOptions,
): Verifier<Events> {
  const settings = readOptions(options);
  return { verify: (request) => openRequest<Events>(request, settings) };
}

function answer(status: number, body: string | null, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers, body, refusal: null };
}

/** RFC 9110 asks for the one with 405, for the other with 401. */
const HINTS = { allow: 'POST', 'www-authenticate': SIGNATURE_SCHEME };

/** Without the request, which holds secrets. */
function logError(error: unknown): void {
  console.error(error);
}
