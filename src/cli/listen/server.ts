/** The development receiver's HTTPS server: takes each request in, has it shown, and answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { statusOf } from '../../receiver/refusals.ts';
import { challengeHeader } from '../../wire/challenge-answer.ts';
import { CommandError } from '../errors.ts';
import type { Answered } from './answer.ts';
import type { Arrival } from './arrival.ts';
import type { Identity } from './self-signed.ts';

export type Parts = {
  inspect(request: IncomingMessage): Promise<Arrival>;
  /** Of a delivery that passed every check. */
  answer(json: Uint8Array): Promise<Answered>;
  /** Told when it has come, and when it is answered. */
  showArrival(arrival: Arrival): void;
  showAnswer(arrival: Arrival, answered: Answered): void;
};

export type Listening = {
  readonly port: number;
  /** Ends every connection. */
  close(): Promise<void>;
};

/** Throws a `CommandError` for an address that cannot be listened on. */
export async function listen(
  identity: Identity,
  { host, port }: { readonly host: string; readonly port: number },
  parts: Parts,
): Promise<Listening> {
  const server = createServer({ cert: identity.certificate, key: identity.privateKey }, (request, response) => {
    // What fails here is a connection that ended: nobody is left to answer.
    handle(request, response, parts).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(new CommandError(`cannot listen: ${cause.message}`, { cause })));
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  const arrival = await parts.inspect(request);
  parts.showArrival(arrival);
  const { found } = arrival;
  const answered = 'delivery' in found ? await parts.answer(found.delivery.body) : rightAnswer(found);
  // Before the sender has it, so that whoever waits for the sender finds it shown.
  parts.showAnswer(arrival, answered);
  if (answered.status === 'reset') return void request.socket.resetAndDestroy();
  if ('answer' in found) response.setHeader(challengeHeader, found.answer);
  response.writeHead(answered.status);
  response.end('refusal' in found ? `${found.refusal.code}: ${found.refusal.description}` : undefined);
}

/** What a receiver owes to anything but a delivery. */
function rightAnswer(found: Exclude<Arrival['found'], { readonly delivery: unknown }>): Answered {
  const status = 'refusal' in found ? statusOf(found.refusal) : 200;
  return { status, onPurpose: false, forwarded: null };
}
