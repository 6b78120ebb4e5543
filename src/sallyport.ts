/**
 * The whole service: what `serve` runs, and what a program that embeds it imports.
 *
 *     const sallyport = await createSallyport(readConfig(process.env, {}));
 *     const { url } = await sallyport.start();
 */
import { readFileSync } from 'node:fs';
import { createGate } from './access/gate.ts';
import { createThrottle } from './access/throttle.ts';
import { compose } from './compose.ts';
import type { Config } from './config.ts';
import type { FirstCredentials } from './data-folder.ts';
import { createClaimWork } from './delivery/claim.ts';
import { createDispatcher } from './delivery/dispatcher.ts';
import { createOauthTokens } from './delivery/oauth.ts';
import { createSend } from './delivery/send.ts';
import { createSettle } from './delivery/settle.ts';
import { createTestDelivery } from './delivery/test-delivery.ts';
import { createListener } from './http/listener.ts';
import { createRemoteAddress } from './http/remote-address.ts';
import { accessRoutes } from './http/routes/access.ts';
import { discoveryRoutes } from './http/routes/discovery.ts';
import { employeeRoutes } from './http/routes/employees.ts';
import { eventRoutes } from './http/routes/events.ts';
import { forwardAuthRoutes } from './http/routes/forward-auth.ts';
import { healthRoutes } from './http/routes/health.ts';
import { introspectionRoutes } from './http/routes/introspection.ts';
import { revocationRoutes } from './http/routes/revocation.ts';
import { tokenRoutes } from './http/routes/token.ts';
import { webhookRoutes } from './http/routes/webhooks.ts';
import { createRequestHandler, type RequestHandler } from './http/server.ts';
import { createLog, type Log } from './log.ts';
import type { Services } from './services.ts';

export type Sallyport = {
  /** Answers requests in somebody else's `node:http` server. */
  readonly handler: RequestHandler;
  readonly services: Services;
  /** On the first start of a data folder: what was made for the first administrator. Shown once. */
  readonly firstCredentials: FirstCredentials | null;
  /** Publishes from inside the embedding program: one event or `{events: […]}`, as `POST /events` takes. Durable when it resolves. */
  readonly publish: (body: unknown) => ReturnType<Services['publish']>;
  /** Listens and begins to deliver; `url` is where. */
  start(): Promise<{ readonly url: string }>;
  /** Only delivers: for a program that has `handler` in a server of its own. */
  startDelivery(): Promise<void>;
  /** Stops accepting, finishes what is under way (10 s at most), and closes the data folder. */
  stop(): Promise<void>;
};
