/** The HTTPS server of the development receiver. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { statusOf } from '../../receiver/refusals.ts';
import { challengeHeader } from '../../wire/challenge-answer.ts';
import { cannotListen } from '../errors.ts';
import type { ListenAnswer } from './answer.ts';
import { type Arrival, deliveryIn } from './arrival.ts';
import type { Identity } from './self-signed.ts';

export type Parts = {
  inspect(request: IncomingMessage): Promise<Arrival>;
  /** Called for a delivery that passed every check, with its decoded body and the headers that describe it. */
  answer(body: Uint8Array, headers: Readonly<Record<string, string>>): Promise<ListenAnswer>;
  /** Called when a request has arrived, and when it is answered. */
  showArrival(arrival: Arrival): void;
  showAnswer(arrival: Arrival, answered: ListenAnswer): void;
};

type Listening = {
  readonly port: number;
  /** Closes every connection. */
  close(): Promise<void>;
};

/** Throws a `CommandError` for an unusable address. */
export async function listen(
  identity: Identity,
  { host, port }: { readonly host: string; readonly port: number },
  parts: Parts,
): Promise<Listening> {
  const server = createServer({ cert: identity.certificate, key: identity.privateKey }, (request, response) => {
    // Only a closed connection fails here, and nobody is left to answer.
    handle(request, response, parts).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(error, '', port)));
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
  const delivery = deliveryIn(found);
  const answered = delivery ? await parts.answer(delivery.body, contentHeaders(found, request)) : plainAnswer(found);
  // Show it first, so that it is visible once the sender has the reply.
  parts.showAnswer(arrival, answered);
  if (answered.status === 'reset') return void request.socket.resetAndDestroy();
  if ('answer' in found) response.setHeader(challengeHeader, found.answer);
  if ('handshake' in found) response.setHeaders(new Headers(found.handshake));
  response.writeHead(answered.status);
  response.end('refusal' in found ? `${found.refusal.code}: ${found.refusal.description}` : undefined);
}

/** The headers with which a program behind reads the body: its type, and the attributes of a binary CloudEvent. */
function contentHeaders(found: Arrival['found'], { headers }: IncomingMessage): Readonly<Record<string, string>> {
  if (!('eventDelivery' in found)) return JSON_TYPE;
  const names = Object.keys(headers).filter((name) => name.startsWith('ce-'));
  const type = headers['content-type'] ?? '';
  // An encrypted body has lost its type.
  const isPlain = /json/i.test(type);
  return {
    ...Object.fromEntries(names.map((name) => [name, String(headers[name])])),
    ...(isPlain ? { 'content-type': type } : type === '' ? {} : JSON_TYPE),
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** The reply to anything but a valid delivery. */
function plainAnswer(found: Arrival['found']): ListenAnswer {
  const status = 'refusal' in found ? statusOf(found.refusal) : 200;
  return { status, onPurpose: false, forwarded: null };
}
