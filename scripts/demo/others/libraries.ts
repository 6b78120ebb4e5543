/** Receivers that consist of a library of npm: an HTTPS server of this process gives the library each request, and answers as it judges. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { npmModules } from '../../../test/support/npm-tools.ts';
import type { Ground, LibraryRequest, OtherReceiver, Receiving } from './receiving.ts';

/** The result of a library for a request. It throws for a request that it refuses. */
type Found = { readonly eventId: string; readonly words: string };
type Judge = (request: LibraryRequest) => Promise<Found>;

type Library = Omit<OtherReceiver, 'programs' | 'start'> &
  Pick<Receiving, 'endpoint' | 'webhook'> & { judge(secret: string): Promise<Judge> };

const load = (name: string): unknown => createRequire(join(npmModules('other-receivers'), 'x'))(name);

const SVIX: Library = {
  name: 'svix',
  title: 'Svix library for JavaScript',
  package: 'npm svix',
  webhook: { format: 'standard' },
  judge: async (secret) => {
    type Svix = { Webhook: new (secret: string) => { verify(body: string, headers: object): void } };
    const { Webhook } = load('svix') as Svix;
    const webhook = new Webhook(`whsec_${secret}`);
    return async ({ headers, body }) => {
      webhook.verify(body, headers);
      return { eventId: String(headers['webhook-id']), words: 'webhook-signature' };
    };
  },
};

const CLOUDEVENTS: Library = {
  name: 'cloudevents',
  title: 'CloudEvents SDK for JavaScript',
  package: 'npm cloudevents',
  webhook: { format: 'cloudevents', batch: true },
  judge: async () => {
    type Event = { readonly id: string; readonly type: string; readonly source: string; validate(): boolean };
    const { HTTP } = load('cloudevents') as { HTTP: { toEvent(message: object): Event | Event[] } };
    return async (message) => {
      const events = [HTTP.toEvent(message)].flat();
      const [event] = events;
      if (event === undefined || !event.validate()) throw new Error('no valid event');
      return { eventId: event.id, words: `a batch of ${events.length}, ${event.type} from ${event.source}` };
    };
  },
};

const OCTOKIT: Library = {
  name: 'octokit',
  title: 'Octokit, as a receiver of GitHub',
  package: 'npm @octokit/webhooks-methods',
  webhook: { signature: { preset: 'github' } },
  judge: async (secret) => {
    const index = join(npmModules('other-receivers'), '@octokit/webhooks-methods/dist-node/index.js');
    type Octokit = { verify(secret: string, body: string, signature: string): Promise<boolean> };
    const { verify } = (await import(pathToFileURL(index).href)) as Octokit;
    return async ({ headers, body }) => {
      if (!(await verify(secret, body, String(headers['x-hub-signature-256'])))) throw new Error('verify: false');
      return { eventId: idOfRecords(body), words: 'X-Hub-Signature-256' };
    };
  },
};

const STRIPE: Library = {
  name: 'stripe',
  title: 'Stripe library, webhooks.constructEvent',
  package: 'npm stripe',
  webhook: { format: 'standard', signature: { preset: 'stripe' } },
  judge: async (secret) => {
    type Webhooks = { constructEvent(body: string, header: string, secret: string): { readonly type: string } };
    const Stripe = load('stripe') as new (key: string) => { readonly webhooks: Webhooks };
    const { webhooks } = new Stripe('sk_test_unused');
    return async ({ headers, body }) => {
      const { type } = webhooks.constructEvent(body, String(headers['stripe-signature']), secret);
      return { eventId: String(headers['webhook-id']), words: `Stripe-Signature of ${type}` };
    };
  },
};

/** Shopify's library also wants headers that Shopify sends. `requestHeaders` add them. */
const SHOPIFY_HEADERS = {
  'X-Shopify-Topic': 'orders/create',
  'X-Shopify-Shop-Domain': 'demo.myshopify.com',
  'X-Shopify-API-Version': '2026-07',
  'X-Shopify-Webhook-Id': 'demo',
};

const SHOPIFY: Library = {
  name: 'shopify',
  title: 'Shopify library, webhooks.validate',
  package: 'npm @shopify/shopify-api',
  endpoint: { requestHeaders: Object.entries(SHOPIFY_HEADERS).map(([name, value]) => ({ name, value })) },
  webhook: { signature: { preset: 'shopify' } },
  judge: async (secret) => {
    type Checked = { readonly valid: boolean; readonly topic?: string; readonly reason?: string };
    type Shopify = { webhooks: { validate(request: object): Promise<Checked> } };
    // The adapter for Node registers itself.
    load('@shopify/shopify-api/adapters/node');
    const { shopifyApi } = load('@shopify/shopify-api') as { shopifyApi(config: object): Shopify };
    const { webhooks } = shopifyApi({
      apiKey: 'unused',
      apiSecretKey: secret,
      apiVersion: '2026-07',
      hostName: 'localhost',
      isEmbeddedApp: false,
      logger: { log: () => {} },
    });
    return async ({ url, headers, body }) => {
      const checked = await webhooks.validate({ rawBody: body, rawRequest: { method: 'POST', url, headers } });
      if (!checked.valid) throw new Error(checked.reason);
      return { eventId: idOfRecords(body), words: `X-Shopify-Hmac-Sha256 of ${checked.topic}` };
    };
  },
};

export const LIBRARIES: readonly OtherReceiver[] = [SVIX, CLOUDEVENTS, OCTOKIT, STRIPE, SHOPIFY].map(receiverOf);

/** The id of the first event of a body of records. */
export function idOfRecords(body: string): string {
  type Body = { readonly records: readonly { readonly value: { readonly headers: { readonly messageId: string } } }[] };
  return (JSON.parse(body) as Body).records[0]?.value.headers.messageId ?? 'none';
}

function receiverOf({ name, title, judge, endpoint, webhook, ...made }: Library): OtherReceiver {
  const start = async ({ certificateFile, keyFile, secret }: Ground): Promise<Receiving> => {
    const read = await judge(secret);
    let settle: (came: Promise<Found>) => void = () => {};
    const found = new Promise<Found>((resolve) => {
      settle = resolve;
    });
    const identity = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
    const server = createServer(identity, async (request, response) => {
      const body = (await request.setEncoding('utf8').toArray()).join('');
      const judged = read({ url: request.url ?? '', headers: request.headers, body });
      settle(judged);
      const status = await judged.then(
        () => 204,
        () => 401,
      );
      response.writeHead(status).end();
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    return {
      url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`,
      webhook,
      ...(endpoint && { endpoint }),
      verified: async (eventId) => {
        const { eventId: came, words } = await found;
        if (came !== eventId) throw new Error(`another event came: ${came}`);
        return words;
      },
      stop: async () => void server.close().closeAllConnections(),
    };
  };
  return { name, title, ...made, programs: [], start };
}
