/** Issuing access tokens: durable before the reply, at 64 connections. */
import {
  BARE,
  formTokenRequest,
  type HttpServer,
  jsonTokenRequest,
  makeClients,
  NODE_OAUTH,
  OIDC_PROVIDER,
  PEERS,
  SALLYPORT,
  startBare,
  startPeer,
  tokensFor,
} from '../harness/http-peers.ts';
import { CONNECTIONS, type LoadRequest, load, makeTarget, type Target } from '../harness/load.ts';
import { measureInRounds } from '../harness/rounds.ts';
import { EMPLOYEE, registerReaders, startService, TOKEN_PATH } from '../harness/service.ts';
import { type BenchResult, type Goal, largest, medianRatio } from '../report/result.ts';
import type { Bench, BenchContext } from './bench.ts';

/** Clients that ask in turn. */
const CLIENTS = 100;

export const tokenBench: Bench = {
  name: 'token',
  programs: ['wrk'],
  peers: true,
  run: async ({ folder, rounds, seconds }: BenchContext) => {
    const servers: HttpServer[] = [];
    const targets: [string, Target][] = [];
    const add = async (name: string, server: HttpServer, requests: readonly LoadRequest[]): Promise<void> => {
      servers.push(server);
      if (name !== BARE) await tokensFor(server.url, requests.slice(0, 1));
      targets.push([name, makeTarget(folder, `requests-${targets.length}`, server, requests)]);
    };
    try {
      const service = await startService({ dataDir: `${folder}/data` });
      servers.push(service);
      const own = (await registerReaders(service, CLIENTS)).map((client) => jsonTokenRequest(TOKEN_PATH, client));
      await add(BARE, await startBare(EMPLOYEE), own);
      await add(SALLYPORT, service, own);
      const clients = makeClients(CLIENTS);
      for (const name of [OIDC_PROVIDER, NODE_OAUTH])
        await add(name, await startPeer(name, folder, clients), clients.map(formTokenRequest));
      const rows = await measureInRounds(
        targets.map(([name, target]) => ({ name, measure: () => figuresOf(target, seconds) })),
        rounds,
      );
      return [describe(rows)];
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  },
};

export async function figuresOf(target: Target, seconds: number): Promise<Record<string, number>> {
  const { perSecond, p50Ms, p99Ms, cpuMicros } = await load(target, { seconds });
  return { rate: perSecond, p50: p50Ms, p99: p99Ms, cpu: cpuMicros };
}

export const HTTP_FIGURES: BenchResult['figures'] = [
  { name: 'rate', unit: '/s' },
  { name: 'p50', unit: 'ms' },
  { name: 'p99', unit: 'ms' },
  { name: 'cpu', unit: 'µs' },
];

function describe(rows: BenchResult['rows']): Omit<BenchResult, 'seconds'> {
  return {
    bench: 'token',
    title: 'Issuing tokens',
    method:
      `The client credentials grant, asked for over ${CONNECTIONS} connections by ${CLIENTS} clients in turn. Sallyport is \`sallyport serve\` as it ` +
      'comes, in JSON; the bare server reads the same POST and answers with its bytes; the peers take it as a form and keep their tokens in ' +
      'SQLite with `synchronous=FULL`, so that everybody but the bare server has a token on the disk before it is answered. `cpu` is the ' +
      "server's own CPU time for one request.",
    figures: HTTP_FIGURES,
    rows,
    baseline: BARE,
    goals: goals({ rows }),
    notMeasured: [],
    chart: { kind: 'bars' },
  };
}

function goals(result: Pick<BenchResult, 'rows'>): Goal[] {
  const peer = largest(result, 'rate', PEERS) ?? NODE_OAUTH;
  return [
    {
      ...{ text: 'rate, of the bare server', bound: 'at least', limit: 65, unit: '%' },
      actual: medianRatio(result, 'rate', SALLYPORT, BARE) * 100,
    },
    {
      ...{ text: `rate, against the better peer (${peer})`, bound: 'at least', limit: 10, unit: '×' },
      actual: medianRatio(result, 'rate', SALLYPORT, peer),
    },
    {
      ...{ text: `p99 at ${CONNECTIONS} connections, of the bare server`, bound: 'at most', limit: 2, unit: '×' },
      actual: medianRatio(result, 'p99', SALLYPORT, BARE),
    },
  ];
}
