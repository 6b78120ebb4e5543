/**
 * One request's walk: route, gate, body, answer. Every refusal becomes the error body here, every fault a 500 that tells
 * nothing but its `errorId`; either way one line is logged.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller, Gate } from '../access/gate.ts';
import type { Clock } from '../ids.ts';
import type { Log } from '../log.ts';
import { Refusal, type RefusalCode } from '../refusal.ts';
import { readBody } from './body.ts';
import { errorReply } from './error-body.ts';
import { asRefusal, loggedPath, sendReply } from './respond.ts';
import type { Reply, Route } from './route.ts';
import { createRouter } from './router.ts';

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
};

/** What the log line of a request says beside its status and duration. */
type Trace = {
  readonly remoteAddress: string;
  route: Route | null;
  caller: Caller | null;
  errorId: string | null;
  refusal: RefusalCode | null;
};

export function createRequestHandler(dependencies: Dependencies): RequestHandler {
  const { routes, gate, clock, log, bodyTimeoutMs, observe } = dependencies;
  const router = createRouter(routes);

  const answer = async (request: IncomingMessage, trace: Trace, signal: AbortSignal): Promise<Reply> => {
    const method = request.method ?? 'GET';
    refuseWithoutHost(request);
    const { route, params, segments } = router.route(method, request.url ?? '/');
    trace.route = route;
    if (route.access === 'guarded') {
      trace.caller = await gate.authenticate(request.headersDistinct.authorization ?? []);
      gate.authorize(trace.caller, method, segments);
    }
    const query = new URLSearchParams(request.url?.split('?').slice(1).join('?'));
    refuseUnknownQuery(route, query);
    const { body, mediaType } = route.body === undefined ? NO_BODY : await readBody(request, route.body, bodyTimeoutMs);
    const { caller, remoteAddress } = trace;
    return route.respond({
      request,
      method,
      params,
      query,
      body,
      mediaType,
      caller,
      remoteAddress,
      signal,
    });
  };

  const refuse = (error: unknown, request: IncomingMessage, trace: Trace): Reply => {
    trace.errorId = randomUUID();
    const refusal = asRefusal(error, trace.errorId, log);
    trace.refusal = refusal.code;
    const worded = trace.route?.refuse?.(refusal, request) ?? refusal;
    return worded instanceof Refusal ? errorReply(worded, trace.errorId, clock()) : worded;
  };

  return async (request, response) => {
    const startedAt = performance.now();
    // Read at once: a socket that has been closed no longer knows its peer.
    const remoteAddress = dependencies.remoteAddress(request);
    const trace: Trace = { remoteAddress, route: null, caller: null, errorId: null, refusal: null };
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    let reply: Reply;
    try {
      reply = await answer(request, trace, gone.signal);
    } catch (error) {
      reply = refuse(error, request, trace);
    }
    sendReply(request, response, reply);
    const { method = 'GET' } = request;
    const { status } = reply;
    const durationMs = performance.now() - startedAt;
    observe?.({ route: trace.route?.path ?? null, method, status, refusal: trace.refusal, seconds: durationMs / 1000 });
    log.info(
      {
        method,
        path: loggedPath(request),
        status,
        durationMs: Math.round(durationMs * 10) / 10,
        remoteAddress,
        ...(trace.caller === null ? {} : { clientId: trace.caller.clientId }),
        ...(trace.errorId === null ? {} : { errorId: trace.errorId }),
      },
      'request',
    );
  };
}

/** RFC 9110 §7.2. Node would refuse it by itself, but not in the error body. */
function refuseWithoutHost({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1')
    throw new Refusal('invalid_request', 'a Host header is required');
}

const NO_BODY = { body: undefined, mediaType: '' };

function refuseUnknownQuery(route: Route, query: URLSearchParams): void {
  if (route.anyMethod === true || route.body?.types.includes('application/x-www-form-urlencoded')) return;
  for (const name of query.keys()) {
    const field = name.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
    if (route.query?.[name] === undefined) {
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
