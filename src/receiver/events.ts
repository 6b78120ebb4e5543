/**
 * Receives what webhooks send in other formats than `records`: Standard Webhooks, CloudEvents in every mode, and their handshake. In its
 * own file, so that receivers of records do not load it.
 */
import { announcedFormat, type EventsFormat, formatOfContent, readFormattedEvents } from '../wire/event-reading.ts';
import { ALLOWED_ORIGIN, ALLOWED_RATE, REQUEST_ORIGIN } from '../wire/handshake.ts';
import { ENCRYPTED } from '../wire/payload-decoding.ts';
import {
  type MessageHead,
  type MessageHeadVerdict,
  readStandardWebhook,
} from '../wire/standard-webhooks-verification.ts';
import { reject, type Verdict } from '../wire/verdict.ts';
import type { EventDelivery, EventOf } from './delivery.ts';
import type { RefusalCode } from './refusals.ts';

export type EventFormatsOptions<Events> = {
  /**
   * Gets the events of a delivery that have not been handled before; at least one. When it returns, or the promise that it returns
   * resolves, the events count as handled. If it throws, the answer is 500 and the delivery is sent again.
   */
  readonly onEvents: (events: readonly EventOf<Events>[], delivery: EventDelivery<Events>) => void | Promise<void>;
  /**
   * Answers the handshake of CloudEvents (`verification` of the endpoint): the hosts of the senders that may deliver, or `*`, and how many
   * requests a minute they may send. Without it, the handshake is refused.
   */
  readonly handshake?: { readonly origins: '*' | readonly string[]; readonly requestsPerMinute?: number };
};

type LowerCaseHeaders = ReadonlyMap<string, string>;

/** How to read a body whose headers announce another format than records. */
type Announced = {
  readonly format: EventsFormat;
  readonly contentType: RegExp;
  /** In the format `standard`, the signature of Standard Webhooks is the one that covers the id. */
  readonly verifyMessage: ((head: MessageHead) => MessageHeadVerdict) | undefined;
};

/** The option `events` of a receiver. Made by `eventFormats`. */
export type EventFormats<Events> = Pick<EventFormatsOptions<Events>, 'onEvents'> & {
  readonly answersHandshake: boolean;
  /** The headers that answer the handshake of an origin. */
  shakeHands(headers: LowerCaseHeaders): Verdict<RefusalCode, { readonly handshake: Readonly<Record<string, string>> }>;
  announced(headers: LowerCaseHeaders): Announced | null;
  /** Null if the decoded body has records. */
  read(
    announced: Announced | null,
    headers: LowerCaseHeaders,
    body: Uint8Array,
  ): Verdict<RefusalCode, Pick<EventDelivery<Events>, 'events'>> | null;
};

/** For the option `events`. Throws a TypeError for options that cannot be used. */
export function eventFormats<Events extends object = Record<string, unknown>>({
  onEvents,
  handshake,
}: EventFormatsOptions<Events>): EventFormats<Events> {
  if (typeof onEvents !== 'function') throw new TypeError('onEvents must be a function');
  const { origins = [], requestsPerMinute } = handshake ?? {};
  if (requestsPerMinute !== undefined && !(Number.isSafeInteger(requestsPerMinute) && requestsPerMinute > 0))
    throw new TypeError('requestsPerMinute must be an integer from 1');
  const isAllowed = (origin: string): boolean =>
    origins === '*' || origins.some((one) => one.toLowerCase() === origin.toLowerCase());
  return {
    onEvents,
    answersHandshake: handshake !== undefined,
    shakeHands(headers) {
      const origin = headers.get(REQUEST_ORIGIN) ?? '';
      if (!isAllowed(origin)) return reject('wrong_origin', `the origin "${origin}" is not allowed`);
      const rate = requestsPerMinute === undefined ? '*' : String(requestsPerMinute);
      return { ok: true, handshake: { [ALLOWED_ORIGIN]: origin, [ALLOWED_RATE]: rate, allow: 'POST' } };
    },
    announced(headers) {
      const format = announcedFormat(headers);
      if (format === null) return null;
      const verifyMessage = format === 'standard' ? readStandardWebhook : undefined;
      return { format, contentType: CONTENT_TYPES[format], verifyMessage };
    },
    read(announced, headers, body) {
      // The content type of an encrypted body is not sent.
      const format = announced?.format ?? (headers.has(ENCRYPTED) ? formatOfContent(body) : null);
      if (format === null) return null;
      const read = readFormattedEvents(format, headers, body);
      // The types of events are the program's declaration, which is not checked.
      return read.ok ? { ok: true, events: read.events as EventDelivery<Events>['events'] } : read;
    },
  };
}

/** A thin binary event has no body, and no type. */
const CONTENT_TYPES: Readonly<Record<EventsFormat, RegExp>> = {
  standard: /^application\/json\s*(;|$)/i,
  structured: /^application\/cloudevents(-batch)?\+json\s*(;|$)/i,
  binary: /^(application\/json\s*(;|$)|$)/i,
};
