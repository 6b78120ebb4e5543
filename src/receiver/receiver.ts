/** The customer's side of deliveries: verifies each request, hands over new records, and returns the answer. */
import { challengeHeader } from '../wire/challenge-answer.ts';
import { SIGNATURE_SCHEME } from '../wire/signature.ts';
import { type OpenVerdict, openRequest } from './open.ts';
import { type ReceiverOptions, readOptions } from './options.ts';
import { type Refusal, statusOf } from './refusals.ts';
import type { ReceivedRequest } from './request.ts';
import { createHandleOnce, memorySeen } from './seen.ts';

/** Message ids in memory, about 10 MB at most; the oldest go first. */
const MESSAGES_SEEN = 50_000;

/** The answer to send back. `refusal` is null unless the request was refused. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A text for the sender's log; null if the status has no body. */
  readonly body: string | null;
  readonly refusal: Refusal | null;
};

/** The part of a receiver that adapters use. */
export type Receives = {
  /** Verifies a request and handles its records. An error on this side becomes a 500. */
  receive(request: ReceivedRequest): Promise<Answer>;
};

export type Receiver<Events> = Receives & {
  /**
   * Verifies and decodes a request, or says why it is refused. Handles nothing and remembers nothing. Rejects if a function of the options
   * throws.
   */
  verify(request: ReceivedRequest): Promise<OpenVerdict<Events>>;
};

/**
 * Creates a receiver. `nodeHandler`, `fetchHandler` and `fastifyPlugin` connect it to a server. Throws a TypeError for invalid options,
 * such as a missing secret.
 */
export function createReceiver<Events extends object = Record<string, unknown>>(
  options: ReceiverOptions<Events>,
): Receiver<Events> {
  const { onRecords, events, onRefusal, seen = memorySeen(MESSAGES_SEEN) } = options;
  // For programs without types. Without this check, every delivery would be answered with 500.
  if (typeof onRecords !== 'function' && !(onRecords === undefined && events))
    throw new TypeError('onRecords must be a function, unless there are events');
  // Does not log the request, which contains secrets.
  const { onError = (error: unknown) => console.error(error) } = options;
  const settings = readOptions(options);
  const formats = { records: onRecords !== undefined, events };
  const handleOnce = createHandleOnce(seen);
  const verify = (request: ReceivedRequest): Promise<OpenVerdict<Events>> => openRequest(request, settings, formats);

  const receive = async (request: ReceivedRequest): Promise<Answer> => {
    try {
      const opened = await verify(request);
      if (!opened.ok) {
        onRefusal?.(opened, request);
        return answer(statusOf(opened), `${opened.code}: ${opened.description}`, HINTS, opened);
      }
      if ('answer' in opened) return answer(200, null, { [challengeHeader]: opened.answer });
      if ('handshake' in opened) return answer(200, null, opened.handshake);
      if ('eventDelivery' in opened) {
        const { eventDelivery } = opened;
        await handleOnce(eventDelivery.events, (fresh) => events?.onEvents(fresh, eventDelivery));
      } else {
        const { delivery } = opened;
        await handleOnce(delivery.records, (fresh) => onRecords?.(fresh, delivery));
      }
      return answer(204, null);
    } catch (error) {
      onError(error, request);
      // Without the error, which may contain internal details.
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

/** RFC 9110 requires `allow` with 405, and `www-authenticate` with 401. */
const HINTS = { allow: 'POST', 'www-authenticate': SIGNATURE_SCHEME };
