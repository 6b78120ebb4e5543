/** The customer's side of deliveries: verifies each request, hands over what is new, and says what to answer. */
import { MESSAGES_SEEN } from '../limits.ts';
import { challengeHeader } from '../wire/challenge-answer.ts';
import { SIGNATURE_SCHEME } from '../wire/signature.ts';
import type { Delivery } from './delivery.ts';
import { type OpenVerdict, openRequest } from './open.ts';
import { type ReceiverOptions, readOptions, type VerifyOptions } from './options.ts';
import { REFUSAL_STATUS, type Refusal } from './refusals.ts';
import type { ReceivedRequest } from './request.ts';
import { createHandleOnce, memorySeen } from './seen.ts';

/** What to send back. `refusal` is null for what was taken, and for a failure of this side. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
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
  const { onRecords, onRefusal, seen = memorySeen(MESSAGES_SEEN) } = options;
  const { onError = (error: unknown) => console.error('sallyport-receiver:', error) } = options;
  const { verify } = createVerifier<Events>(options);
  const handleOnce = createHandleOnce(seen);

  const take = async (request: ReceivedRequest): Promise<Answer> => {
    const opened = await verify(request);
    if (!opened.ok) {
      const { code, description } = opened;
      onRefusal?.({ code, description }, request);
      return refuse({ code, description });
    }
    if (opened.kind === 'challenge') return answer(200, { [challengeHeader]: opened.answer });
    const { delivery } = opened;
    await handleOnce(delivery.records, (fresh) => onRecords(fresh, delivery));
    return answer(204, {});
  };

  return {
    receive: (request) =>
      take(request).catch(async (error: unknown) => {
        await Promise.resolve(error)
          .then(() => onError(error, request))
          .catch(console.error);
        // What went wrong may name what is nobody else's business.
        return answer(500, {}, { code: 'failed', description: 'the receiver failed; the delivery is to come again' });
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

function refuse(refusal: Refusal): Answer {
  const status = REFUSAL_STATUS[refusal.code];
  const headers: Record<string, string> = {};
  // RFC 9110 §15.5.2, §15.5.6
  if (status === 401) headers['www-authenticate'] = refusal.code === 'wrong_token' ? 'Bearer' : SIGNATURE_SCHEME;
  if (status === 405) headers.allow = 'POST';
  return { ...answer(status, headers, refusal), refusal };
}

function answer(status: number, headers: Readonly<Record<string, string>>, body?: object): Answer {
  if (body === undefined) return { status, headers, body: '', refusal: null };
  const type = { 'content-type': 'application/json' };
  return { status, headers: { ...type, ...headers }, body: JSON.stringify(body), refusal: null };
}
