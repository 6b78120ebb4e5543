/** A guarded GET: token, scope and permission checked, an employee read and answered as JSON. */
import {
  type Compared,
  formTokenRequest,
  guardedRequest,
  jsonTokenRequest,
  PEER_EMPLOYEE_PATH,
  rateGoals,
  tokensFor,
} from '../harness/http-peers.ts';
import { CONNECTIONS, type LoadRequest } from '../harness/load.ts';
import { createEmployee, registerReaders, type Service, TOKEN_PATH } from '../harness/service.ts';
import type { BenchResult, ThreadProfile } from '../report/result.ts';
import type { Bench } from './bench.ts';
import { CLIENTS, contestBench } from './contest.ts';

export const guardBench: Bench = contestBench({
  name: 'guard',
  ownRequests,
  peerRequests: async (url, clients) =>
    (await tokensFor(url, clients.map(formTokenRequest))).map((token) => guardedRequest(PEER_EMPLOYEE_PATH, token)),
  tried: checkGuarded,
  describe,
});

async function ownRequests(service: Service): Promise<LoadRequest[]> {
  const clients = await registerReaders(service, CLIENTS);
  const { path } = await createEmployee(service);
  const asked = clients.map((client) => jsonTokenRequest(TOKEN_PATH, client));
  return (await tokensFor(service.url, asked)).map((token) => guardedRequest(path, token));
}

/** Throws unless the employee is answered with the token and refused without it. */
async function checkGuarded(url: string, { path, headers = {} }: LoadRequest): Promise<unknown> {
  const refused = await fetch(url + path);
  await refused.arrayBuffer();
  const answered = await fetch(url + path, { headers });
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
      `GET of an employee with a valid token, over ${CONNECTIONS} connections, with ${CLIENTS} tokens in turn. ` +
      "Sallyport checks the token, the scope of the API catalogue, and the user's permission and constraints, and " +
      'reads the employee. The peers check token and scope in Express and read the same from SQLite. The bare server ' +
      'answers with JSON of the same size.',
    ...compared,
    goals: rateGoals(compared, 75, 2),
    profile,
  };
}
