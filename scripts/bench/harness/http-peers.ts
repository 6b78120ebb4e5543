/** The servers that the token and the guard bench compare, each in a process of its own, and how they are compared. */
import { fileURLToPath } from 'node:url';
import type { Certificates } from '../../../test/support/tls.ts';
import type { Receiver } from '../receiver-process.ts';
import { type BenchResult, type Goal, largest, medianRatio } from '../report/result.ts';
import { type LoadRequest, load, makeTarget, type Target } from './load.ts';
import { firstLine, startNode } from './processes.ts';
import { measureInRounds } from './rounds.ts';
import { type Credentials, EMPLOYEE } from './service.ts';
import { subfolder } from './work-folder.ts';

export type HttpServer = { readonly url: string; readonly pid: number; stop(): Promise<void> };

export const BARE = 'bare node:http';
export const SALLYPORT = 'Sallyport';
const OIDC_PROVIDER = 'oidc-provider, Express';
const NODE_OAUTH = '@node-oauth/oauth2-server, Express';
export const PEERS: readonly string[] = [OIDC_PROVIDER, NODE_OAUTH];

/** The common parts of both results. */
export type Compared = Pick<BenchResult, 'figures' | 'rows' | 'baseline' | 'notMeasured'>;

type Contest = {
  /** Always stops the server afterwards. */
  started<Server extends HttpServer>(server: Server): Server;
  /** Measures a server with these requests in turn. */
  add(name: string, server: HttpServer, requests: readonly LoadRequest[]): void;
};

/** Measures what `enter` adds, round after round in the order in which it was added. */
export async function measureServers(
  { folder, rounds, seconds }: { readonly folder: string; readonly rounds: number; readonly seconds: number },
  enter: (contest: Contest) => Promise<void>,
): Promise<Compared> {
  const servers: HttpServer[] = [];
  const targets: [string, Target][] = [];
  try {
    await enter({
      started: (server) => {
        servers.push(server);
        return server;
      },
      add: (name, server, requests) => {
        targets.push([name, makeTarget(folder, `requests-${targets.length}`, server, requests)]);
      },
    });
    const contenders = targets.map(([name, target]) => ({ name, measure: () => figuresOf(target, seconds) }));
    const rows = await measureInRounds(contenders, rounds);
    return { figures: FIGURES, rows, baseline: BARE, notMeasured: [] };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

const FIGURES: BenchResult['figures'] = [
  { name: 'rate', unit: '/s' },
  { name: 'p50', unit: 'ms' },
  { name: 'p99', unit: 'ms' },
  { name: 'cpu', unit: 'µs' },
];

async function figuresOf(target: Target, seconds: number): Promise<Record<string, number>> {
  const { perSecond, p50Ms, p99Ms, cpuMicros } = await load(target, { seconds });
  return { rate: perSecond, p50: p50Ms, p99: p99Ms, cpu: cpuMicros };
}

/** The goals for Sallyport's rate: at least so many percent of the bare server's, and so many times the better peer's. */
export function rateGoals(result: Pick<BenchResult, 'rows'>, percentOfBare: number, timesPeer: number): Goal[] {
  const peer = largest(result, 'rate', PEERS) ?? NODE_OAUTH;
  return [
    {
      text: 'rate, of the bare server',
      bound: 'at least',
      limit: percentOfBare,
      unit: '%',
      actual: medianRatio(result, 'rate', SALLYPORT, BARE) * 100,
    },
    {
      text: `rate, against the better peer (${peer})`,
      bound: 'at least',
      limit: timesPeer,
      unit: '×',
      actual: medianRatio(result, 'rate', SALLYPORT, peer),
    },
  ];
}

/** Where the peers' programs have their employee. */
export const PEER_EMPLOYEE_PATH = '/employees/01936f5e-0000-7000-8000-000000000000';

const PROGRAMS: Readonly<Record<string, string>> = {
  [OIDC_PROVIDER]: 'oidc-provider.mjs',
  [NODE_OAUTH]: 'node-oauth.mjs',
};

export function startBare(employee: unknown): Promise<HttpServer> {
  return startServer('bare.mjs', [JSON.stringify(employee)]);
}

/** Sends each event that it accepts to a receiver, and keeps both below `folder`. */
export function startBareEvents(folder: string, { origin }: Receiver, { ca }: Certificates): Promise<HttpServer> {
  return startServer('bare-events.mjs', [folder, JSON.stringify({ origin, ca })]);
}

/** Keeps its tokens below `folder`. */
export function startPeer(name: string, folder: string, clients: readonly Credentials[]): Promise<HttpServer> {
  const program = PROGRAMS[name] ?? '';
  const own = subfolder(folder, program);
  return startServer(program, [own, JSON.stringify(EMPLOYEE), JSON.stringify(clients)]);
}

async function startServer(program: string, args: readonly string[]): Promise<HttpServer> {
  const running = startNode(fileURLToPath(new URL(`../peers/${program}`, import.meta.url)), args, {
    env: { PATH: process.env.PATH, NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { url } = await firstLine<{ url: string }>(running, program);
  return { url, pid: running.pid, stop: () => running.stop() };
}

/** Clients for the peers, of the same length as Sallyport's. */
export function makeClients(count: number): Credentials[] {
  return Array.from({ length: count }, (_, n) => ({
    clientId: `client_${String(n).padStart(25, '0')}`,
    clientSecret: `secret_${String(n).padStart(46, '0')}`,
  }));
}

const PEER_TOKEN_PATH = '/token';
const SCOPE = 'employees:view';

/** A token request as each of the two servers takes it: JSON, or the form of RFC 6749 §4.4.2. */
export function jsonTokenRequest(path: string, { clientId, clientSecret }: Credentials): LoadRequest {
  const body = JSON.stringify({ clientId, clientSecret, grantType: 'client_credentials', scope: SCOPE });
  return { method: 'POST', path, headers: { 'Content-Type': 'application/json' }, body };
}

export function formTokenRequest({ clientId, clientSecret }: Credentials): LoadRequest {
  const fields = { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials', scope: SCOPE };
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return { method: 'POST', path: PEER_TOKEN_PATH, headers, body: new URLSearchParams(fields).toString() };
}

/** A token for each client, from whichever server. */
export async function tokensFor(url: string, requests: readonly LoadRequest[]): Promise<string[]> {
  const tokens: string[] = [];
  for (const { path, headers, body } of requests) {
    const response = await fetch(url + path, { method: 'POST', headers, ...(body === undefined ? {} : { body }) });
    const answer = (await response.json()) as { access_token?: string; scope?: string };
    if (response.status !== 200 || answer.access_token === undefined || answer.scope !== SCOPE) {
      throw new Error(`${url}${path} answered ${response.status}: ${JSON.stringify(answer)}`);
    }
    tokens.push(answer.access_token);
  }
  return tokens;
}

export function guardedRequest(path: string, token: string): LoadRequest {
  return { method: 'GET', path, headers: { Authorization: `Bearer ${token}` } };
}
