/** The receivers of `npm run demo -- --keep`: one HTTPS server, with a path and a behaviour for each of them. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Identity } from '../../src/cli/listen/self-signed.ts';

/** Of a delivery by the clock of the service, in epoch milliseconds. */
export type Behaviour = (now: number) => { readonly status: number; readonly body?: string };

export type Receivers = {
  readonly origin: string;
  /** Adds a receiver and returns its URL. */
  add(path: string, behaviour: Behaviour): string;
  close(): void;
};

export const works: Behaviour = () => ({ status: 204 });

/** Fails between two times, and works before and after. */
export function failsBetween(since: number, until: number, status: number, body: string): Behaviour {
  return (now) => (now >= since && now < until ? { status, body } : works(now));
}

export async function startReceivers({ certificate, privateKey }: Identity, clock: () => number): Promise<Receivers> {
  const paths = new Map<string, Behaviour>();
  const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    request.resume().on('end', () => {
      const behaviour = paths.get(request.url ?? '');
      const { status, body = '' } = behaviour === undefined ? { status: 404 } : behaviour(clock());
      // The receivers are part of the story, so they have its clock.
      const date = { date: new Date(clock()).toUTCString() };
      response.writeHead(status, body === '' ? date : { ...date, 'content-type': 'application/json' }).end(body);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    add: (path, behaviour) => {
      paths.set(path, behaviour);
      return origin + path;
    },
    close: () => void server.close().closeAllConnections(),
  };
}
