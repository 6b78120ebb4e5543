/** Sallyport under load over HTTP, beside a bare server and the peers, and then its profile. */
import {
  BARE,
  type Compared,
  makeClients,
  measureServers,
  PEERS,
  SALLYPORT,
  startBare,
  startPeer,
} from '../harness/http-peers.ts';
import type { LoadRequest } from '../harness/load.ts';
import { profileUnderLoad } from '../harness/profile.ts';
import { type Credentials, type Service, startService } from '../harness/service.ts';
import type { BenchResult, ThreadProfile } from '../report/result.ts';
import type { Bench } from './bench.ts';

/** Clients, or their tokens, that are used in turn. */
export const CLIENTS = 100;

type Contest = {
  readonly name: string;
  /** The requests that Sallyport gets. */
  ownRequests(service: Service): Promise<LoadRequest[]>;
  /** The requests that a peer with these clients gets. */
  peerRequests(url: string, clients: readonly Credentials[]): Promise<LoadRequest[]>;
  /** Tries a server with a request. Returns the employee with which the bare server answers. Throws for a wrong answer. */
  tried(url: string, request: LoadRequest): Promise<unknown>;
  describe(compared: Compared, profile: readonly ThreadProfile[]): Omit<BenchResult, 'seconds'>;
};

export function contestBench({ name, ownRequests, peerRequests, tried, describe }: Contest): Bench {
  return {
    name,
    programs: ['wrk'],
    peers: true,
    run: async (context) => {
      const { folder, seconds, say } = context;
      const compared = await measureServers(context, async ({ started, add }) => {
        const service = started(await startService({ dataDir: `${folder}/data` }));
        const own = await ownRequests(service);
        const employee = await tried(service.url, first(own));
        add(BARE, started(await startBare(employee)), own);
        add(SALLYPORT, service, own);
        for (const peer of PEERS) {
          const clients = makeClients(CLIENTS);
          const server = started(await startPeer(peer, folder, clients));
          const requests = await peerRequests(server.url, clients);
          await tried(server.url, first(requests));
          add(peer, server, requests);
        }
      });
      say('profiling');
      return [describe(compared, await profileUnderLoad(folder, seconds, ownRequests))];
    },
  };
}

function first(requests: readonly LoadRequest[]): LoadRequest {
  const [request] = requests;
  if (request === undefined) throw new Error('there are no requests');
  return request;
}
