/** Issuing access tokens: durable before the reply, at 64 connections. */
import {
  BARE,
  type Compared,
  formTokenRequest,
  jsonTokenRequest,
  rateGoals,
  SALLYPORT,
  tokensFor,
} from '../harness/http-peers.ts';
import { CONNECTIONS, type LoadRequest } from '../harness/load.ts';
import { EMPLOYEE, registerReaders, type Service, TOKEN_PATH } from '../harness/service.ts';
import { type BenchResult, type Goal, medianRatio, type ThreadProfile } from '../report/result.ts';
import type { Bench } from './bench.ts';
import { CLIENTS, contestBench } from './contest.ts';

export const tokenBench: Bench = contestBench({
  name: 'token',
  ownRequests,
  peerRequests: async (_, clients) => clients.map(formTokenRequest),
  tried: async (url, request) => {
    await tokensFor(url, [request]);
    return EMPLOYEE;
  },
  describe,
});

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
