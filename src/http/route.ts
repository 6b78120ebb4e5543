/** A route as data: what it takes, what it answers, and who may call it. The server serves it, OpenAPI describes it. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Caller } from '../access/gate.ts';
import { ADMIN_REQUEST_BYTES } from '../kernel/limits/limits.ts';
import type { Refusal } from '../kernel/refusal.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type Reply = {
  readonly status: number;
  /** A header with a list of values is sent once for each, as `Set-Cookie` has to be. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Sent as JSON; a string or bytes are sent as they are, with the `Content-Type` given in `headers`. */
  readonly body?: unknown;
  /**
   * In place of `body`: sent piece by piece, each as soon as it is there, until the source ends, the client leaves or the server
   * stops. The call's `signal` is aborted then, and a source that waits for something has to watch it.
   */
  readonly stream?: AsyncIterable<string | Uint8Array>;
};

/** One request on its way through a route. */
export type Call = {
  readonly request: IncomingMessage;
  readonly method: string;
  /** Path parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed body, not yet checked against a schema; undefined where the route takes none. */
  readonly body: unknown;
  /** The media type of the body, in lower case and without parameters. */
  readonly mediaType: string;
  /** Who calls; null on an open route. */
  readonly caller: Caller | null;
  /** Which client the log is to name where there is no caller: routes that authenticate it themselves say so. */
  clientId: string | null;
  /** The address that the request came from, as far as trusted proxies tell it. */
  readonly remoteAddress: string;
  /** Aborted when the client has gone, and for a stream when the server stops. */
  readonly signal: AbortSignal;
};

/** How a body is read: the media types taken, each with its parser, and the most bytes. */
export type BodyRule = {
  readonly maxBytes: number;
  readonly types: readonly (
    | 'application/json'
    | 'application/merge-patch+json'
    | 'application/x-www-form-urlencoded'
  )[];
  /** May be missing: the parsed body is then an empty object. */
  readonly optional?: boolean;
  /** A form in which a name may stand several times: the parsed body is a `URLSearchParams`. */
  readonly repeats?: boolean;
  /** What OpenAPI shows. */
  readonly schema: z.ZodType;
  /** What it shows of a form, where that has other names than JSON. */
  readonly formSchema?: z.ZodType;
};

export type ReplyDescription = {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Of a body that is not JSON. */
  readonly mediaType?: string;
  /** Headers that are in every such reply, each with what it says. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** How an open route's caller may prove who it is, and the scope that it needs then. */
export type OpenAuthentication = {
  /** `none`: there are calls that need no proof. */
  readonly by: readonly ('body' | 'basic' | 'bearer' | 'none')[];
  readonly scope?: string;
};

/** A header or query parameter; `schema` is what OpenAPI shows of its value. */
export type Parameter = { readonly schema: z.ZodType; readonly description: string };

export type Route = {
  readonly method: Method;
  /** As in the API catalogue: `{name}` takes one segment. */
  readonly path: string;
  /** `guarded`: a valid token and a rule of the catalogue. `open`: none, or checks of the route's own. */
  readonly access: 'guarded' | 'open';
  /** The name of the operation in OpenAPI, which clients are generated from. A route without one is no part of the described API. */
  readonly operationId?: string;
  readonly summary: string;
  /** What the summary has no room for, in CommonMark. */
  readonly description?: string;
  readonly tag: string;
  /** Of an open route that checks its caller itself. */
  readonly authentication?: OpenAuthentication;
  /** Request headers that it reads beside the usual ones. */
  readonly headers?: Readonly<Record<string, Parameter>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  /** Reads its query by itself: what it does not know there is no reason to refuse, such as a mark that a mail program adds to links. */
  readonly freeQuery?: boolean;
  readonly body?: BodyRule;
  readonly replies: Readonly<Record<number, ReplyDescription>>;
  /** Any method is answered by this route (forward auth). */
  readonly anyMethod?: boolean;
  /** The body of a refusal, where it may be another than the error body. */
  readonly refusal?: z.ZodType;
  /** Asked before the body is read: what it answers goes out, and the body is never looked at. Throws `Refusal`. */
  admit?(request: IncomingMessage): Promise<Reply | null>;
  respond(call: Call): Promise<Reply>;
  /**
   * How a refusal is worded where the route speaks another dialect than the error body (RFC 6749 §5.2): its own reply, or
   * another refusal for the error body; null leaves it as it is. `errorId` is that of the log line.
   */
  refuse?(refusal: Refusal, request: IncomingMessage, errorId: string): Reply | Refusal | null;
};

/** A JSON body of the administration API. */
export function jsonBody(schema: z.ZodType, more: Partial<BodyRule> = {}): BodyRule {
  return { maxBytes: ADMIN_REQUEST_BYTES, types: ['application/json'], schema, ...more };
}

/** A merge patch (RFC 7396): every field may be missing, and null removes it. */
export function patchBody(schema: z.ZodType): BodyRule {
  return jsonBody(schema, { types: ['application/merge-patch+json', 'application/json'] });
}

/** The caller of a guarded route. */
export function callerOf({ caller }: Call): Caller {
  if (caller === null) throw new Error('an open route asked for its caller');
  return caller;
}

/** The body of an action that takes none: missing, or an empty object. */
export const emptyInput = z.strictObject({});
