/** Issuing access tokens: durable before the reply, at 64 connections. */
import {
  BARE,
  type Compared,
  formTokenRequest,
  type HttpServer,
  jsonTokenRequest,
  makeClients,
  measureServers,
  NODE_OAUTH,
  OIDC_PROVIDER,
  rateGoals,
  SALLYPORT,
  startBare,
  startPeer,
  tokensFor,
} from '../harness/http-peers.ts';
import { CONNECTIONS, type LoadRequest } from '../harness/load.ts';
import { profileUnderLoad } from '../harness/profile.ts';
import { EMPLOYEE, registerReaders, type Service, startService, TOKEN_PATH } from '../harness/service.ts';
import { type BenchResult, type Goal, medianRatio, type ThreadProfile } from '../report/result.ts';
import type { Bench, BenchContext } from './bench.ts';

/** Clients that ask in turn. */
const CLIENTS = 100;

export const tokenBench: Bench = {
  name: 'token',
  programs: ['wrk'],
  peers: true,
  run: async (context: BenchContext) => {
    const { folder, seconds, say } = context;
    const compared = await measureServers(context, async ({ started, add }) => {
      const addTried = async (name: string, server: HttpServer, requests: readonly LoadRequest[]): Promise<void> => {
        await tokensFor(server.url, requests.slice(0, 1));
        add(name, server, requests);
      };
      const service = started(await startService({ dataDir: `${folder}/data` }));
      const own = await ownRequests(service);
      add(BARE, started(await startBare(EMPLOYEE)), own);
      await addTried(SALLYPORT, service, own);
      const clients = makeClients(CLIENTS);
      for (const name of [OIDC_PROVIDER, NODE_OAUTH]) {
        await addTried(name, started(await startPeer(name, folder, clients)), clients.map(formTokenRequest));
      }
    });
    say('profiling');
    return [describe(compared, await profileUnderLoad(folder, seconds, ownRequests))];
  },
};

async function ownRequests(service: Service): Promise<LoadRequest[]> {
  return (await registerReaders(service, CLIENTS)).map((client) => jsonTokenRequest(TOKEN_PATH, client));
}

function describe(compared: Compared, profile: readonly ThreadProfile[]): Omit<BenchResult, 'seconds'> {
  return {
    bench: 'token',
    title: 'Issuing tokens',
    method:
      `${CLIENTS} clients request tokens in turn with the client credentials grant, over ${CONNECTIONS} ` +
      'connections. Sallyport is `sallyport serve` with its defaults, in JSON. The bare server reads the same POST and ' +
      'answers with its bytes. The peers read a form and keep their tokens in SQLite with `synchronous=FULL`. So all ' +
      'but the bare server have the token on the disk before they answer. `cpu` is the CPU time of the server for one ' +
      'request.',
    ...compared,
    goals: goals(compared),
    profile,
  };
}

function goals(result: Pick<BenchResult, 'rows'>): Goal[] {
  return [
    ...rateGoals(result, 65, 10),
    {
      text: `p99 at ${CONNECTIONS} connections, of the bare server`,
      bound: 'at most',
      limit: 2,
      unit: '×',
      actual: medianRatio(result, 'p99', SALLYPORT, BARE),
    },
  ];
}
