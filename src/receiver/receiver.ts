/** The customer's side of deliveries: verifies each request, hands over what is new, and says what to answer. */
import { MESSAGES_SEEN } from '../kernel/limits/limits.ts';
import { challengeHeader } from '../wire/challenge-answer.ts';
import { SIGNATURE_SCHEME } from '../wire/signature.ts';
import { type OpenVerdict, openRequest } from './open.ts';
import { type ReceiverOptions, readOptions } from './options.ts';
import { type Refusal, statusOf } from './refusals.ts';
import type { ReceivedRequest } from './request.ts';
import { createHandleOnce, memorySeen } from './seen.ts';

/** What to send back; `refusal` is null unless the request was refused. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Text for whoever looks at the sender's log; null where the status has none. */
  readonly body: string | null;
  readonly refusal: Refusal | null;
};

/** What adapters need of a receiver. */
export type Receives = {
  /** Takes a request from its verification to the handling of its records. What goes wrong on this side is a 500. */
  receive(request: ReceivedRequest): Promise<Answer>;
};

export type Receiver<Events> = Receives & {
  /**
   * Says what a request brings, or why it is refused, and does nothing with it: no handling, no memory of repeats. Rejects with
   * what a function of the options throws.
   */
  verify(request: ReceivedRequest): Promise<OpenVerdict<Events>>;
};

/**
 * Makes a receiver; `nodeHandler`, `fetchHandler` and `fastifyPlugin` put it behind a server. Throws a TypeError for options
 * that cannot be meant, such as no secret.
 */
export function createReceiver<Events extends object = Record<string, unknown>>(
  options: ReceiverOptions<Events>,
): Receiver<Events> {
  const { onRecords, onRefusal, seen = memorySeen(MESSAGES_SEEN) } = options;
  // Programs without types: without it every delivery would be answered 500.
  if (typeof onRecords !== 'function') throw new TypeError('onRecords is missing: a function that gets the records');
  // Without the request, which holds secrets.
  const { onError = (error: unknown) => console.error(error) } = options;
  const settings = readOptions(options);
  const handleOnce = createHandleOnce(seen);
  const verify = (request: ReceivedRequest): Promise<OpenVerdict<Events>> => openRequest(request, settings);

  const receive = async (request: ReceivedRequest): Promise<Answer> => {
    try {
      const opened = await verify(request);
      if (!opened.ok) {
        onRefusal?.(opened, request);
        return answer(statusOf(opened), `${opened.code}: ${opened.description}`, HINTS, opened);
      }
      if ('answer' in opened) return answer(200, null, { [challengeHeader]: opened.answer });
      const { delivery } = opened;
      await handleOnce(delivery.records, (fresh) => onRecords(fresh, delivery));
      return answer(204, null);
    } catch (error) {
      onError(error, request);
      // What went wrong may name what is nobody else's business.
      return answer(500, 'failed: see the log of the receiver');
    }
  };
  return { receive, verify };
}

function answer(
  status: number,
  body: string | null,
  headers: Readonly<Record<string, string>> = {},
  refusal: Refusal | null = null,
): Answer {
  return { status, headers, body, refusal };
}

/** RFC 9110 asks for the one with 405, for the other with 401. */
const HINTS = { allow: 'POST', 'www-authenticate': SIGNATURE_SCHEME };
