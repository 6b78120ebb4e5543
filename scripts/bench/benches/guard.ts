/** A guarded GET: token, scope and permission checked, an employee read and answered as JSON. */
import {
  BARE,
  type Compared,
  formTokenRequest,
  guardedRequest,
  jsonTokenRequest,
  makeClients,
  measureServers,
  PEER_EMPLOYEE_PATH,
  PEERS,
  rateGoals,
  SALLYPORT,
  startBare,
  startPeer,
  tokensFor,
} from '../harness/http-peers.ts';
import { CONNECTIONS, type LoadRequest } from '../harness/load.ts';
import { profileUnderLoad } from '../harness/profile.ts';
import { createEmployee, registerReaders, type Service, startService, TOKEN_PATH } from '../harness/service.ts';
import type { BenchResult, ThreadProfile } from '../report/result.ts';
import type { Bench, BenchContext } from './bench.ts';

/** Tokens that are used in turn, each of another client. */
const TOKENS = 100;

export const guardBench: Bench = {
  name: 'guard',
  programs: ['wrk'],
  peers: true,
  run: async (context: BenchContext) => {
    const { folder, seconds, say } = context;
    const compared = await measureServers(context, async ({ started, add }) => {
      const service = started(await startService({ dataDir: `${folder}/data` }));
      const own = await ownRequests(service);
      const employee = await checkGuarded(service.url, own[0]);
      add(BARE, started(await startBare(employee)), own);
      add(SALLYPORT, service, own);
      for (const name of PEERS) {
        const peers = makeClients(TOKENS);
        const server = started(await startPeer(name, folder, peers));
        const tokens = await tokensFor(server.url, peers.map(formTokenRequest));
        const requests = tokens.map((token) => guardedRequest(PEER_EMPLOYEE_PATH, token));
        await checkGuarded(server.url, requests[0]);
        add(name, server, requests);
      }
    });
    say('profiling');
    return [describe(compared, await profileUnderLoad(folder, seconds, ownRequests))];
  },
};

async function ownRequests(service: Service): Promise<LoadRequest[]> {
  const clients = await registerReaders(service, TOKENS);
  const { path } = await createEmployee(service);
  const asked = clients.map((client) => jsonTokenRequest(TOKEN_PATH, client));
  return (await tokensFor(service.url, asked)).map((token) => guardedRequest(path, token));
}

/** Throws unless the employee is answered with the token and refused without it. */
async function checkGuarded(url: string, request: LoadRequest | undefined): Promise<unknown> {
  const path = request?.path ?? '';
  const refused = await fetch(url + path);
  await refused.arrayBuffer();
  const answered = await fetch(url + path, { headers: request?.headers ?? {} });
  const employee = (await answered.json()) as { userName?: string };
  if (refused.status !== 401 || answered.status !== 200 || employee.userName !== 'jane.roe') {
    throw new Error(`${url}${path} answered ${refused.status} without a token and ${answered.status} with one`);
  }
  return employee;
}

function describe(compared: Compared, profile: readonly ThreadProfile[]): Omit<BenchResult, 'seconds'> {
  return {
    bench: 'guard',
    title: 'Guarding an API',
    method:
      `GET of an employee with a valid token, over ${CONNECTIONS} connections, with ${TOKENS} tokens in turn. ` +
      "Sallyport checks the token, the scope of the API catalogue, and the user's permission and constraints, and " +
      'reads the employee. The peers check token and scope in Express and read the same from SQLite. The bare server ' +
      'answers with JSON of the same size.',
    ...compared,
    goals: rateGoals(compared, 75, 2),
    profile,
  };
}
