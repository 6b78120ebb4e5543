/** A route as data: its input, its replies, and who may call it. The server serves it, and OpenAPI documents it. */

import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { Caller } from '../access/gate.ts';
import { ADMIN_REQUEST_BYTES } from '../domain/limits.ts';
import type { Refusal } from '../kernel/refusal.ts';
import type { Metered } from '../observe/requests.ts';

/** The token endpoint. OpenAPI names it. */
export const TOKEN_PATH = '/services/api/oauth2/token';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type Reply = {
  readonly status: number;
  /** A header with several values is sent once per value, as `Set-Cookie` requires. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Sent as JSON. A string or bytes are sent unchanged, with the `Content-Type` in `headers`. */
  readonly body?: unknown;
  /**
   * Instead of `body`: sent piece by piece until the source ends, the client disconnects or the server stops. Then `signal` of the call
   * is aborted, which a waiting source must observe.
   */
  readonly stream?: AsyncIterable<string | Uint8Array>;
};

/** One request to a route. */
export type Call = {
  readonly request: IncomingMessage;
  readonly method: string;
  /** Path parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed body, not yet validated; its bytes if the route asks for them. Undefined if the route has no body. */
  readonly body: unknown;
  /** The media type of the body, in lower case and without parameters. */
  readonly mediaType: string;
  /** The caller; null on an open route. */
  readonly caller: Caller | null;
  /** The client id for the log, set by routes that authenticate the client themselves. */
  clientId: string | null;
  /** The address of the client, from `createRemoteAddress`. */
  readonly remoteAddress: string;
  /** Aborted when the client disconnects, and for a stream when the server stops. */
  readonly signal: AbortSignal;
};

/** The accepted bodies of a route. */
export type BodyRule = {
  readonly maxBytes: number;
  readonly types: readonly (
    | 'application/json'
    | 'application/merge-patch+json'
    | 'application/x-www-form-urlencoded'
  )[];
  /** The body may be missing: the parsed body is then an empty object. */
  readonly optional?: boolean;
  /** A form in which names may repeat: the parsed body is a `URLSearchParams`. */
  readonly repeats?: boolean;
  /** The bytes of the body, which are UTF-8, are passed on, for a route that parses them itself. */
  readonly isBytes?: true;
  /** For OpenAPI. */
  readonly schema: z.ZodType;
  /** For OpenAPI, if forms have other names than JSON. */
  readonly formSchema?: z.ZodType;
};

export type ReplyDescription = {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Members that its example has in place of those of the example of the schema. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** If the body is not JSON. */
  readonly mediaType?: string;
  /** With the key of a webhook, the body is a PGP message instead. */
  readonly mayBeEncrypted?: true;
  /** The headers of every such reply, with descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A 201 for something that has no address of its own, and so no `Location`. */
  readonly hasNoAddress?: boolean;
};

/** How callers of an open route authenticate, and the scope that they need. */
type OpenAuthentication = {
  /** `none`: some calls need no authentication. */
  readonly by: readonly ('body' | 'basic' | 'bearer' | 'none')[];
  readonly scope?: string;
};

/** A header or query parameter. `schema` is for OpenAPI. */
export type Parameter = { readonly schema: z.ZodType; readonly description: string };

/**
 * Whom a route or a page serves. `operator`: only the operator. `both`: customers too, each with a route that is made over its part of the
 * service. `customers`: only customers, at an address where the operator has another page or none. `anyone`: it shows nobody's
 * data, or checks the caller itself.
 */
export type ServedTo = 'operator' | 'both' | 'customers' | 'anyone';

export type Route<For extends ServedTo = ServedTo> = {
  readonly for: For;
  readonly method: Method;
  /** As in the API catalogue: `{name}` matches one segment. */
  readonly path: string;
  /** `guarded`: requires a token that a rule of the catalogue accepts. `open`: no check, or checks of the route itself. */
  readonly access: 'guarded' | 'open';
  /** The name of the operation in OpenAPI, from which clients are generated. Routes without one are not documented. */
  readonly operationId?: string;
  readonly summary: string;
  /** More text than the summary, in CommonMark. */
  readonly description?: string;
  readonly tag: string;
  /** The kind that metrics and figures count. Default: a guarded route is a call, an open one is nothing. */
  readonly metered?: Metered;
  /** For an open route that authenticates its caller. */
  readonly authentication?: OpenAuthentication;
  /** Request headers other than the usual ones. */
  readonly headers?: Readonly<Record<string, Parameter>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  /** Accepts unknown query parameters, which mail programs may add to links. */
  readonly freeQuery?: boolean;
  readonly body?: BodyRule;
  readonly replies: Readonly<Record<number, ReplyDescription>>;
  /**
   * For a method other than GET: the reply promises nothing about stored data, or depends on its own write. Other replies wait until the
   * data that they depend on is durable (`Database.confirm`).
   */
  readonly promisesNothing?: boolean;
  /** The route answers every method (forward auth). */
  readonly anyMethod?: boolean;
  /** The body of refusals, if it is not only the error body. */
  readonly refusal?: z.ZodType;
  /** Called before the body is read. If it returns a reply, the body is ignored. Throws `Refusal`. */
  admit?(request: IncomingMessage): Promise<Reply | null>;
  respond(call: Call): Promise<Reply>;
  /**
   * Words a refusal in another format than the error body (RFC 6749 §5.2): returns a reply, or another refusal for the error body, or
   * null for no change. `errorId`: the one in the log.
   */
  refuse?(refusal: Refusal, request: IncomingMessage, errorId: string): Reply | Refusal | null;
  /** `refuse` gets the operator's remedies of an outage too, and shows them to nobody else: only it knows who reads (`withoutRemedies`). */
  readonly knowsReader?: true;
};

/** Shows a refusal of a request without a route. */
export type RefuseElsewhere = {
  refuse(refusal: Refusal, request: IncomingMessage, errorId: string): Promise<Reply | Refusal>;
};

/** A JSON body of the administration API. */
export function jsonBody(schema: z.ZodType, more: Partial<BodyRule> = {}): BodyRule {
  return { maxBytes: ADMIN_REQUEST_BYTES, types: ['application/json'], schema, ...more };
}

/** A merge patch (RFC 7396): every field is optional, and null removes a value. */
export function patchBody(schema: z.ZodType): BodyRule {
  return jsonBody(schema, { types: ['application/merge-patch+json', 'application/json'] });
}

/** The caller of a guarded route. */
export function requireCaller({ caller }: Call): Caller {
  if (caller === null) throw new Error('an open route asked for its caller');
  return caller;
}
