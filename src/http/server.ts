/**
 * Handles one request: route, gate, body, reply. A refusal becomes the error body, and any other error a 500 that shows only its
 * `errorId`. Every request writes one log line.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller, Gate } from '../access/gate.ts';
import type { Clock } from '../kernel/ids.ts';
import { Refusal, type RefusalCode, refuseField } from '../kernel/refusal.ts';
import type { Log } from '../observe/log.ts';
import { readBody } from './body.ts';
import { asRefusal, errorReply } from './error-body.ts';
import { createSendLater, sendReply, sendStream } from './reply.ts';
import { allHeaders, loggedPath, readAbsoluteForm, refuseFraming } from './request-head.ts';
import type { Call, Reply, Route } from './route.ts';
import { createRouter, NO_PARAMS } from './router.ts';

/** A request with its reply. `route`: its pattern, null for an unknown path. `refusal`: the code of its refusal. */
export type ObserveRequest = (request: {
  readonly route: string | null;
  readonly method: string;
  readonly status: number;
  readonly refusal: RefusalCode | null;
  readonly seconds: number;
}) => void;

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

type Dependencies = {
  readonly routes: readonly Route[];
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Log;
  /** The address of the client. Trusts `X-Forwarded-For` only from trusted proxies. */
  readonly remoteAddress: (request: IncomingMessage) => string;
  /** Time limit for receiving a body. Default: REQUEST_BODY_MS. */
  readonly bodyTimeoutMs?: number;
  readonly observe?: ObserveRequest;
  /** Words the refusals of requests without a route. */
  readonly elsewhere?: Pick<Route, 'refuse'>;
  /** Aborted when the server stops, to end streams: they would last until their clients disconnect. */
  readonly stopping?: AbortSignal;
};

export function createRequestHandler(dependencies: Dependencies): RequestHandler {
  const { routes, gate, clock, log, bodyTimeoutMs, observe, elsewhere, stopping } = dependencies;
  const router = createRouter(routes);
  const sendLater = createSendLater(log);

  const answer = async (context: RequestContext): Promise<Reply> => {
    const { request, method } = context;
    const target = request.url ?? '/';
    refuseFraming(request);
    const { route, params, segments } = router.route(method, target);
    context.route = route;
    context.params = params;
    if (route.access === 'guarded') {
      context.caller = await gate.authenticate(allHeaders(request, 'authorization'));
      gate.authorize(context.caller, method, segments);
    }
    context.query = queryOf(target);
    refuseUnknownQuery(route, context.query);
    const early = (await route.admit?.(request)) ?? null;
    if (early !== null) return early;
    if (route.body !== undefined) {
      const { body, mediaType } = await readBody(request, route.body, bodyTimeoutMs);
      context.body = body;
      context.mediaType = mediaType;
    }
    return await route.respond(context);
  };

  const refuse = (error: unknown, context: RequestContext): Reply => {
    const errorId = randomUUID();
    const refusal = asRefusal(error, errorId, log);
    context.errorId = errorId;
    context.refusal = refusal.code;
    const worded = (context.route ?? elsewhere)?.refuse?.(refusal, context.request, errorId) ?? refusal;
    return worded instanceof Refusal ? errorReply(worded, errorId, clock()) : worded;
  };

  return async (request, response) => {
    const startedAt = performance.now();
    // Read first: a closed socket no longer knows its peer.
    const remoteAddress = dependencies.remoteAddress(request);
    readAbsoluteForm(request);
    const context = new RequestContext(request, response, remoteAddress);
    let reply: Reply;
    try {
      reply = await answer(context);
    } catch (error) {
      reply = refuse(error, context);
    }
    const { method, route, caller, refusal, errorId } = context;
    sendLater(response, () => {
      sendReply(request, response, reply);
      if (reply.stream !== undefined && method !== 'HEAD')
        void sendStream(response, reply.stream, { gone: context.gone, stopping, log });
    });
    const { status } = reply;
    const durationMs = performance.now() - startedAt;
    observe?.({ route: route?.path ?? null, method, status, refusal, seconds: durationMs / 1000 });
    const clientId = caller?.clientId ?? context.clientId;
    log.request({ method, path: loggedPath(request), status, durationMs, remoteAddress, clientId, refusal, errorId });
  };
}

/**
 * A class because of its getter. A getter in an object literal gives every request a new hidden class, and a quarter of everything that a
 * request allocates then lives until the next full garbage collection (measured: 580 ms of collection in 100,000 requests instead of 60).
 */
class RequestContext implements Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly remoteAddress: string;
  params: Readonly<Record<string, string>> = NO_PARAMS;
  query: URLSearchParams = NO_QUERY;
  body: unknown = undefined;
  mediaType = '';
  route: Route | null = null;
  caller: Caller | null = null;
  clientId: string | null = null;
  errorId: string | null = null;
  refusal: RefusalCode | null = null;
  #gone: AbortController | null = null;

  constructor(request: IncomingMessage, response: ServerResponse, remoteAddress: string) {
    this.request = request;
    this.response = response;
    this.method = request.method ?? 'GET';
    this.remoteAddress = remoteAddress;
  }

  /** Aborted when the client disconnects. Created on first use: creating and aborting one takes a third of a request's time. */
  get gone(): AbortController {
    if (this.#gone !== null) return this.#gone;
    const gone = new AbortController();
    if (this.response.closed) gone.abort();
    else this.response.once('close', () => gone.abort());
    this.#gone = gone;
    return gone;
  }

  get signal(): AbortSignal {
    return this.gone.signal;
  }
}

/** Shared by all requests without a query. Never modified. */
const NO_QUERY: URLSearchParams = new URLSearchParams();

function queryOf(target: string): URLSearchParams {
  const at = target.indexOf('?');
  return at === -1 ? NO_QUERY : new URLSearchParams(target.slice(at + 1));
}

function refuseUnknownQuery(route: Route, query: URLSearchParams): void {
  const { anyMethod, freeQuery, body } = route;
  if (query.size === 0 || anyMethod === true || freeQuery === true) return;
  if (body?.types.includes('application/x-www-form-urlencoded')) return;
  for (const name of query.keys()) {
    const field = name.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
    if (route.query === undefined || !Object.hasOwn(route.query, name)) {
      throw refuseField(field, 'is not a known query parameter');
    }
    if (query.getAll(name).length > 1) throw refuseField(field, 'was given more than once');
  }
}
