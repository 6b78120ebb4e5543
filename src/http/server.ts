/**
 * One request's walk: route, gate, body, answer. Every refusal becomes the error body here, every fault a 500 that tells
 * nothing but its `errorId`; either way one line is logged.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Gate } from '../access/gate.ts';
import type { Clock } from '../kernel/ids.ts';
import { Refusal, type RefusalCode } from '../kernel/refusal.ts';
import type { Log } from '../observe/log.ts';
import { readAbsoluteForm } from './absolute-form.ts';
import { readBody } from './body.ts';
import { createDepartures } from './departures.ts';
import { errorReply } from './error-body.ts';
import { refuseFraming } from './framing.ts';
import { allHeaders } from './raw-headers.ts';
import { asRefusal, loggedPath, sendReply } from './respond.ts';
import type { Reply, Route } from './route.ts';
import { createRouter } from './router.ts';
import { sendStream } from './stream.ts';
import { NO_QUERY, Walk } from './walk.ts';

/** A request that was answered. `route` is its pattern, null for an unknown path; `refusal` the code of what it was refused for. */
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
  /** Where a request came from, as far as trusted proxies tell it. */
  readonly remoteAddress: (request: IncomingMessage) => string;
  /** How long a body may take to arrive; REQUEST_BODY_MS unless given. */
  readonly bodyTimeoutMs?: number;
  readonly observe?: ObserveRequest;
  /** Words the refusals of requests that no route takes. */
  readonly elsewhere?: Pick<Route, 'refuse'>;
  /** Aborted when the server stops: streams end then, which otherwise last as long as their clients like. */
  readonly stopping?: AbortSignal;
};

export function createRequestHandler(dependencies: Dependencies): RequestHandler {
  const { routes, gate, clock, log, bodyTimeoutMs, observe, elsewhere, stopping } = dependencies;
  const router = createRouter(routes);
  const depart = createDepartures(log);

  const answer = async (walk: Walk): Promise<Reply> => {
    const { request, method } = walk;
    const target = request.url ?? '/';
    refuseFraming(request);
    const { route, params, segments } = router.route(method, target);
    walk.route = route;
    walk.params = params;
    if (route.access === 'guarded') {
      walk.caller = await gate.authenticate(allHeaders(request, 'authorization'));
      gate.authorize(walk.caller, method, segments);
    }
    walk.query = queryOf(target);
    refuseUnknownQuery(route, walk.query);
    const turnedAway = (await route.admit?.(request)) ?? null;
    if (turnedAway !== null) return turnedAway;
    if (route.body !== undefined) {
      const { body, mediaType } = await readBody(request, route.body, bodyTimeoutMs);
      walk.body = body;
      walk.mediaType = mediaType;
    }
    return await route.respond(walk);
  };

  const refuse = (error: unknown, walk: Walk): Reply => {
    const errorId = randomUUID();
    const refusal = asRefusal(error, errorId, log);
    walk.errorId = errorId;
    walk.refusal = refusal.code;
    const worded = (walk.route ?? elsewhere)?.refuse?.(refusal, walk.request, errorId) ?? refusal;
    return worded instanceof Refusal ? errorReply(worded, errorId, clock()) : worded;
  };

  return async (request, response) => {
    const startedAt = performance.now();
    // Read at once: a socket that has been closed no longer knows its peer.
    const remoteAddress = dependencies.remoteAddress(request);
    readAbsoluteForm(request);
    const walk = new Walk(request, response, remoteAddress);
    let reply: Reply;
    try {
      reply = await answer(walk);
    } catch (error) {
      reply = refuse(error, walk);
    }
    const { method, route, caller, refusal, errorId } = walk;
    depart(response, () => {
      sendReply(request, response, reply);
      if (reply.stream !== undefined && method !== 'HEAD')
        void sendStream(response, reply.stream, { gone: walk.gone, stopping, log });
    });
    const { status } = reply;
    const durationMs = performance.now() - startedAt;
    observe?.({ route: route?.path ?? null, method, status, refusal, seconds: durationMs / 1000 });
    const clientId = caller?.clientId ?? walk.clientId;
    log.request({ method, path: loggedPath(request), status, durationMs, remoteAddress, clientId, refusal, errorId });
  };
}

function queryOf(target: string): URLSearchParams {
  const at = target.indexOf('?');
  return at === -1 ? NO_QUERY : new URLSearchParams(target.slice(at + 1));
}

function refuseUnknownQuery(route: Route, query: URLSearchParams): void {
  if (
    route.anyMethod === true ||
    route.freeQuery === true ||
    route.body?.types.includes('application/x-www-form-urlencoded')
  )
    return;
  for (const name of query.keys()) {
    const field = name.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
    if (route.query === undefined || !Object.hasOwn(route.query, name)) {
      throw new Refusal('validation_failed', `${field} is not a known query parameter`, {
        details: [{ field, problem: 'is not a known query parameter' }],
      });
    }
    if (query.getAll(name).length > 1) {
      throw new Refusal('validation_failed', `${field} was given more than once`, {
        details: [{ field, problem: 'was given more than once' }],
      });
    }
  }
}
