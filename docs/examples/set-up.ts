/**
 * The surroundings of the examples: a Sallyport of their own with an empty data folder, and HTTPS servers whose certificate it
 * trusts. In your case these are `npm start` and the servers of your customers.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSallyport, type Options, type Sallyport } from 'sallyport';
import { makeCertificate } from '../../src/cli/listen/self-signed.ts';

const API = '/services/api/x/edge/v1/';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-example-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const identity = makeCertificate(['127.0.0.1'], Date.now());
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, identity.certificate);

type Client = { readonly clientId: string; readonly clientSecret: string };

/** Calls the administration API, as in `call('POST', 'endpoints', {…})`. Returns the body of the reply; rejects if the call is refused. */
export type Call = <T = { readonly id: string; readonly [field: string]: unknown }>(
  method: string,
  path: string,
  body?: object,
) => Promise<T>;

export type Running = {
  readonly sallyport: Sallyport;
  readonly url: string;
  readonly dataDir: string;
  /** The credentials that the first start printed. Their scopes allow everything. */
  readonly application: Client;
  /** An access token of that application. */
  readonly token: string;
  readonly call: Call;
};

/** Starts Sallyport on a free port of this machine, to which it may also send. */
export async function startSallyport(options: Options = {}): Promise<Running> {
  const { dataDir, application } = await freshDataFolder();
  const defaults: Options = { dataDir, port: 0, caFile, egressAllow: '127.0.0.0/8,::1', logLevel: 'error' };
  const sallyport = await createSallyport({ ...defaults, ...options });
  opened.push(() => sallyport.stop());
  const { url } = await sallyport.start();
  const token = await requestToken(url, application);
  const call: Call = async (method, path, body) => {
    const reply = await fetch(url + API + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
  return { sallyport, url, dataDir, application, token, call };
}

/** Asks for a token with every scope of the application. */
export async function requestToken(url: string, { clientId, clientSecret }: Client): Promise<string> {
  const reply = await fetch(`${url}/services/api/oauth2/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ clientId, clientSecret, grantType: 'client_credentials' }),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(text);
  return JSON.parse(text).access_token;
}

type Subscription = {
  /** Where the receiver is. */
  readonly url: string;
  readonly eventType: string;
  /** Further fields of the endpoint and of the webhook. */
  readonly endpoint?: object;
  readonly webhook?: object;
};

/** Creates an event type, an endpoint and a webhook, and starts the webhook. Returns the ids of the latter two. */
export async function subscribe(call: Call, { url, eventType, endpoint, webhook }: Subscription): Promise<Subscribed> {
  await call('POST', 'event-types', { name: eventType });
  const { id: endpointId } = await call('POST', 'endpoints', { name: 'receiver', url, ...endpoint });
  const settings = { name: 'webhook', endpointId, eventTypes: [eventType], ...webhook };
  const { id: webhookId } = await call('POST', 'webhooks', settings);
  await call('POST', `webhooks/${webhookId}/start`);
  return { endpointId, webhookId };
}

export type Subscribed = { readonly endpointId: string; readonly webhookId: string };

/** Starts an HTTPS server on a free port. Returns its URL, such as `https://127.0.0.1:40213`. */
export async function serveHttps(listener: RequestListener): Promise<string> {
  const server = createServer({ cert: identity.certificate, key: identity.privateKey }, listener);
  opened.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A queue between a receiver and the lines of an example that wait for it. */
export function createQueue<T>(): { put(item: T): void; next(): Promise<T> } {
  const items: T[] = [];
  const waiting: ((item: T) => void)[] = [];
  return {
    put(item) {
      const waiter = waiting.shift();
      if (waiter === undefined) items.push(item);
      else waiter(item);
    },
    next() {
      const item = items.shift();
      return item === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(item);
    },
  };
}

/** Reads again every 10 ms until `isDone`. Returns the last result. */
export async function readUntil<T>(read: () => Promise<T>, isDone: (result: T) => boolean): Promise<T> {
  for (;;) {
    const result = await read();
    if (isDone(result)) return result;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const opened: (() => unknown)[] = [];

/** Stops what the functions above started, in reverse order. */
export async function cleanUp(): Promise<void> {
  for (let close = opened.pop(); close !== undefined; close = opened.pop()) await close();
}

let firstStart: Promise<Client> | null = null;

/** The first start of a data folder takes half a second, so that several examples in one process copy the folder of the first. */
async function freshDataFolder(): Promise<{ readonly dataDir: string; readonly application: Client }> {
  const original = join(folder, 'original');
  firstStart ??= makeFirstStart(original);
  const application = await firstStart;
  const dataDir = mkdtempSync(join(folder, 'data-'));
  cpSync(original, dataDir, { recursive: true });
  return { dataDir, application };
}

async function makeFirstStart(dataDir: string): Promise<Client> {
  const sallyport = await createSallyport({ dataDir, logLevel: 'error' });
  const { clientId = '', clientSecret = '' } = sallyport.firstCredentials ?? {};
  await sallyport.credentialsShown();
  await sallyport.stop();
  return { clientId, clientSecret };
}
