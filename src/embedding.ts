/**
 * Sallyport inside the server of another program: `node:http`, Express or Fastify. `middleware` answers requests to Sallyport's paths.
 * `guard` requires an access token on the program's own paths.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Caller, type Gate, requireScope } from './access/gate.ts';
import { SCOPE_NAME } from './domain/credential.ts';
import { asRefusal, errorReply, newErrorId } from './http/error-body.ts';
import { sendReply } from './http/reply.ts';
import { loggedPath, originForm } from './http/request.ts';
import type { Route } from './http/route.ts';
import { createRouter } from './http/router.ts';
import type { RequestHandler } from './http/server.ts';
import type { Clock } from './kernel/ids.ts';
import { type Lifetime, StoppedError } from './kernel/lifetime.ts';
import type { Log } from './kernel/log.ts';

/** A request of `node:http` or Express, or a request of Fastify, which contains one. */
export type HostRequest = IncomingMessage | { readonly raw: IncomingMessage };
/** A response of `node:http` or Express, or a reply of Fastify. */
export type HostResponse = ServerResponse | { readonly raw: ServerResponse; hijack(): unknown };

/**
 * For `app.use` of Express and `onRequest` of Fastify; with `node:http`, call it. Either answers the request, or leaves it untouched and
 * calls `next`, so that the program handles it.
 */
export type Middleware = (request: HostRequest, response: HostResponse, next: (error?: Error) => void) => void;

export type Embedding = {
  /** Answers every request: 404 for a path that is not Sallyport's, 503 after the stop. */
  readonly handler: RequestHandler;
  /** Answers requests to Sallyport's paths. Mount it at the root, before anything that reads bodies. */
  readonly middleware: Middleware;
  /**
   * Passes a request on if its bearer token has the scope and its user has the permission, by default the one with the scope's name. Both
   * are checked as they are now. Answers any other request with 401 and the error body. `callerOf` returns the caller of a request that was
   * passed on. Throws a `TypeError` if `scope` is not a scope name.
   */
  guard(scope: string, permission?: string): Middleware;
  /**
   * The caller of an `Authorization` header, for servers in which a guard cannot be used. Rejects with a `Refusal` where a guard would
   * answer 401, and with a `TypeError` if `scope` is not a scope name.
   */
  authenticate(authorization: string | undefined, scope: string, permission?: string): Promise<Caller>;
};

type Dependencies = {
  readonly routes: readonly Route[];
  readonly handler: RequestHandler;
  readonly gate: Pick<Gate, 'authenticate'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly remoteAddress: (request: IncomingMessage) => string;
  /** Runs a call, which a stop waits for. Refuses calls after the stop. */
  readonly during: Lifetime['during'];
};

export function createEmbedding(dependencies: Dependencies): Embedding {
  const { gate, log, during } = dependencies;
  const router = createRouter(dependencies.routes);

  const handler: RequestHandler = async (request, response) => {
    try {
      await during(() => dependencies.handler(request, response));
    } catch (error) {
      if (!(error instanceof StoppedError)) throw error;
      answerRefusal(request, response, error, dependencies);
    }
  };

  const admit = async (authorization: readonly string[], scope: string, permission: string): Promise<Caller> => {
    const caller = await gate.authenticate(authorization);
    requireScope(caller, { scope, permission });
    return caller;
  };

  return {
    handler,
    middleware: (hostRequest, hostResponse, next) => {
      const request = rawRequest(hostRequest);
      if (!router.knows(originForm(request.url ?? ''))) return next();
      if (request.readableDidRead || request.readableEnded) return next(new Error(BODY_IS_GONE));
      const response = takeResponse(hostResponse);
      void handler(request, response).catch((error: unknown) => {
        log.error({ err: error }, 'a request failed');
        response.destroy();
      });
    },
    guard: (scope, permission = scope) => {
      refuseScopeName(scope);
      return (hostRequest, hostResponse, next) => {
        const request = rawRequest(hostRequest);
        const enter = (caller: Caller): void => {
          callers.set(request, caller);
          next();
        };
        const refuse = (error: unknown): void =>
          answerRefusal(request, takeResponse(hostResponse), error, dependencies);
        // An error that the program throws in `next` is not a refusal, so it is not caught here.
        const authorization = request.headersDistinct.authorization ?? [];
        void during(() => admit(authorization, scope, permission)).then(enter, refuse);
      };
    },
    authenticate: async (authorization, scope, permission = scope) => {
      refuseScopeName(scope);
      return during(() => admit(authorization === undefined ? [] : [authorization], scope, permission));
    },
  };
}

function refuseScopeName(scope: string): void {
  if (!SCOPE_NAME.test(scope)) throw new TypeError(`${scope} is not a scope name, as <resource>:<action>`);
}

/** The caller of a request that a `guard` passed on. Throws for any other request. */
export function callerOf(request: HostRequest): Caller {
  const caller = callers.get(rawRequest(request));
  if (caller === undefined) throw new Error('no guard has passed this request on');
  return caller;
}

const callers = new WeakMap<IncomingMessage, Caller>();

const BODY_IS_GONE =
  'the body was read before Sallyport got the request: put its middleware before anything that reads bodies';

function answerRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  { clock, log, remoteAddress }: Dependencies,
): void {
  const now = clock();
  const errorId = newErrorId(now);
  const reply = errorReply(asRefusal(error, errorId, log), errorId, now);
  const trace = { method: request.method, path: loggedPath(request), remoteAddress: remoteAddress(request) };
  sendReply(request, response, reply);
  log.info(
    { ...trace, status: reply.status, errorId },
    error instanceof StoppedError ? 'refused after the stop' : 'refused by a guard',
  );
}

function rawRequest(request: HostRequest): IncomingMessage {
  return 'raw' in request ? request.raw : request;
}

/** Fastify leaves the reply to the caller from then on. */
function takeResponse(response: HostResponse): ServerResponse {
  if (!('raw' in response)) return response;
  response.hijack();
  return response.raw;
}
