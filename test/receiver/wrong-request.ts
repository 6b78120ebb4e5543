/** Requests with one problem each, and the expected refusals. */
import type { RefusalCode } from '../../src/receiver/index.ts';
import type { Options } from '../support/receiver-transports.ts';
import { headerOf, type RawRequest, type SignedRequestOptions, withHeader } from '../support/signed-request.ts';

export type WrongRequest = {
  readonly what: string;
  /** Changes before signing. */
  readonly sent: SignedRequestOptions;
  /** Changes after signing. */
  change(request: RawRequest): RawRequest | Promise<RawRequest>;
  /** Options of the receiver. */
  readonly options: Partial<Options>;
  readonly code: RefusalCode;
  readonly description: RegExp;
  readonly status: number;
  readonly verified: boolean;
  /** False if the headers show the problem, so that the body must not be read. */
  readonly readsBody: boolean;
};

export type Details = Partial<Pick<WrongRequest, 'sent' | 'change' | 'options' | 'status'>>;
export type Change = NonNullable<Details['change']>;

/** A refusal of a request that is not verified. */
export function stranger(
  what: string,
  code: RefusalCode,
  description: RegExp,
  details: Details | Change,
): WrongRequest {
  return wrong(what, code, description, details, { status: 401, verified: false, readsBody: false });
}

/** A refusal of a verified request by its headers. */
export function head(what: string, code: RefusalCode, description: RegExp, details: Details | Change): WrongRequest {
  return wrong(what, code, description, details, { status: 400, verified: true, readsBody: false });
}

/** A refusal of a verified request by its body. */
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

/** Sets the header; null removes it. */
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

/** A request that arrives so many seconds after it was sent, by the receiver's clock. */
export function arriving(afterSeconds: number, more: Partial<Options> = {}): Details {
  return { sent: { at: NOW }, options: { clock: () => NOW + afterSeconds * 1000, ...more } };
}

const NOW = Date.parse('2026-11-21T05:00:00.000Z');
