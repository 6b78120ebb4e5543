/**
 * Sallyport inside somebody else's server, be it `node:http`, Express or Fastify: `middleware` answers the paths that are
 * Sallyport's, and `guard` asks for an access token on paths that are the program's own.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SCOPE_NAME } from './access/credential.ts';
import { type Caller, type Gate, requireScope } from './access/gate.ts';
import { asRefusal, errorReply } from './http/error-body.ts';
import { sendReply } from './http/reply.ts';
import { loggedPath, originForm } from './http/request.ts';
import type { Route } from './http/route.ts';
import { createRouter } from './http/router.ts';
import type { RequestHandler } from './http/server.ts';
import type { Clock } from './kernel/ids.ts';
import { type Lifetime, StoppedError } from './kernel/lifetime.ts';
import type { Log } from './observe/log.ts';

export type { Caller } from './access/gate.ts';

/** A request of `node:http`, as Express has it too; or one of Fastify, which has that inside. */
export type HostRequest = IncomingMessage | { readonly raw: IncomingMessage };
export type HostResponse = ServerResponse | { readonly raw: ServerResponse; hijack(): unknown };

/**
 * For `app.use` of Express and for `onRequest` of Fastify; in `node:http`, call it. `next` is called when the program has to go on
 * with the request, which is then untouched; otherwise the request is answered.
 */
export type Middleware = (request: HostRequest, response: HostResponse, next: (error?: Error) => void) => void;

export type Embedding = {
  /** Answers every request, those at paths that are not Sallyport's with 404. After the stop, 503. */
  readonly handler: RequestHandler;
  /** Answers what is at one of Sallyport's paths. It must come before whatever reads bodies, and not below a path of its own. */
  readonly middleware: Middleware;
  /**
   * Lets a request through whose bearer token has the scope, and whose user has the permission (that of the scope's name unless
   * another is given), as they are now. Any other is answered 401 in the error body. `callerOf` then says who calls.
   * Throws a `TypeError` for what is no scope name.
   */
  guard(scope: string, permission?: string): Middleware;
};

type Dependencies = {
  readonly routes: readonly Route[];
  readonly handler: RequestHandler;
  readonly gate: Pick<Gate, 'authenticate'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly remoteAddress: (request: IncomingMessage) => string;
  /** Refuses what comes after the stop, which waits for the rest. */
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

  const admit = async (request: IncomingMessage, scope: string, permission: string): Promise<Caller> => {
    const caller = await gate.authenticate(request.headersDistinct.authorization ?? []);
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
      if (!SCOPE_NAME.test(scope)) throw new TypeError(`${scope} is not a scope name, as <resource>:<action>`);
      return (hostRequest, hostResponse, next) => {
        const request = rawRequest(hostRequest);
        const enter = (caller: Caller): void => {
          callers.set(request, caller);
          next();
        };
        const refuse = (error: unknown): void =>
          answerRefusal(request, takeResponse(hostResponse), error, dependencies);
        // What the program throws in `next` is not caught here: it is no refusal.
        void during(() => admit(request, scope, permission)).then(enter, refuse);
      };
    },
  };
}

/** Who calls, in a request that a `guard` let through. Throws for any other. */
export function callerOf(request: HostRequest): Caller {
  const caller = callers.get(rawRequest(request));
  if (caller === undefined) throw new Error('no guard has let this request through');
  return caller;
}

const callers = new WeakMap<IncomingMessage, Caller>();

const BODY_IS_GONE =
  'the body was read before Sallyport had the request: its middleware must come before whatever reads bodies';

function answerRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  { clock, log, remoteAddress }: Dependencies,
): void {
  const errorId = randomUUID();
  const reply = errorReply(asRefusal(error, errorId, log), errorId, clock());
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

/** From here on Fastify leaves the answer to us. */
function takeResponse(response: HostResponse): ServerResponse {
  if (!('raw' in response)) return response;
  response.hijack();
  return response.raw;
}
