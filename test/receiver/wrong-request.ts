/** A request with one thing wrong, and what a receiver says of it. */
import type { RefusalCode } from '../../src/receiver/index.ts';
import type { Options } from '../support/receiver-transports.ts';
import { headerOf, type RawRequest, type SignedRequestOptions, withHeader } from '../support/signed-request.ts';

export type WrongRequest = {
  readonly what: string;
  /** How it is made; rightly signed. */
  readonly sent: SignedRequestOptions;
  /** What is wrong with it on arrival. */
  change(request: RawRequest): RawRequest | Promise<RawRequest>;
  /** What is wrong with the receiver. */
  readonly options: Partial<Options>;
  readonly code: RefusalCode;
  readonly description: RegExp;
  readonly status: number;
  readonly verified: boolean;
  /** False where the headers tell already, and the body must be left unread. */
  readonly readsBody: boolean;
};

export type Details = Partial<Pick<WrongRequest, 'sent' | 'change' | 'options' | 'status'>>;
export type Change = NonNullable<Details['change']>;

/** Of a request that may come from anybody. */
export function stranger(
  what: string,
  code: RefusalCode,
  description: RegExp,
  details: Details | Change,
): WrongRequest {
  return wrong(what, code, description, details, { status: 401, verified: false, readsBody: false });
}

/** Of a request that the sender made, with the headers of a body that cannot be taken. */
export function head(what: string, code: RefusalCode, description: RegExp, details: Details | Change): WrongRequest {
  return wrong(what, code, description, details, { status: 400, verified: true, readsBody: false });
}

/** Of a request that the sender made, with a body that cannot be taken. */
export function content(what: string, code: RefusalCode, description: RegExp, details: Details | Change): WrongRequest {
  return wrong(what, code, description, details, { status: 400, verified: true, readsBody: true });
}

function wrong(
  what: string,
  code: RefusalCode,
  description: RegExp,
  details: Details | Change,
  rest: Pick<WrongRequest, 'status' | 'verified' | 'readsBody'>,
): WrongRequest {
  const given = typeof details === 'function' ? { change: details } : details;
  return { what, code, description, sent: {}, change: (request) => request, options: {}, ...rest, ...given };
}

/** Gives the header another value; null leaves it out. */
export function set(name: string, value: string | null): Change {
  return (request) => withHeader(request, name, value);
}

/** Sends the header twice. */
export function twice(name: string): Change {
  return (request) => ({ ...request, headers: [...request.headers, [name, headerOf(request, name)]] });
}

export function authorization(change: (value: string) => string): Change {
  return (request) => withHeader(request, 'authorization', change(headerOf(request, 'authorization')));
}

export function signature(text: string): Change {
  return authorization((value) => value.replace(/Signature=.*/, `Signature=${text}`));
}

export const OTHER_HASH: string = Buffer.alloc(32, 7).toString('base64');

/** Sent at one moment, and arriving so many seconds later by the receiver's clock. */
export function arriving(afterSeconds: number, more: Partial<Options> = {}): Details {
  return { sent: { at: NOW }, options: { clock: () => NOW + afterSeconds * 1000, ...more } };
}

const NOW = Date.parse('2026-11-21T05:00:00.000Z');
