/** The OAuth endpoints on a real socket and a real database, and functions to call them. */

import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { createThrottle } from '../../src/domain/throttle.ts';
import type { User } from '../../src/domain/user.ts';
import { createRemoteAddress } from '../../src/http/request.ts';
import { createClientAuthentication } from '../../src/http/routes/client-authentication.ts';
import { discoveryRoutes } from '../../src/http/routes/discovery.ts';
import { forwardAuthRoutes } from '../../src/http/routes/forward-auth.ts';
import { introspectionRoutes } from '../../src/http/routes/introspection.ts';
import { revocationRoutes } from '../../src/http/routes/revocation.ts';
import { tokenRoutes } from '../../src/http/routes/token.ts';
import { createListener, createRequestHandler } from '../../src/http/server.ts';
import { createLog } from '../../src/observe/log.ts';
import { parseCidr } from '../../src/outbound/ip-address.ts';
import { makeApplication, makeUser, openTestServices, type TestServices } from './services.ts';

export const TOKEN = '/services/api/oauth2/token';
export const INTROSPECT = '/services/api/oauth2/introspect';
export const REVOKE = '/services/api/oauth2/revoke';
export const FORWARD_AUTH = '/services/api/oauth2/forward-auth';

export type OAuthService = TestServices & {
  readonly port: number;
  /** `http://127.0.0.1:<port>`, also the issuer. */
  readonly origin: string;
  /** The log, one JSON text per entry. */
  readonly logged: readonly string[];
  /** Raw connections, destroyed before the server is closed. */
  readonly sockets: Set<Socket>;
};

/** The loopback address is a trusted proxy, so a test can set the address of a request with `X-Forwarded-For`. */
export async function startOAuthService(
  t: TestContext,
  { bodyTimeoutMs }: { readonly bodyTimeoutMs?: number } = {},
): Promise<OAuthService> {
  const services = await openTestServices(t);
  const { tokens, gate, clock, store, products } = services;
  const logged: string[] = [];
  const log = createLog('info', { write: (line: string) => void logged.push(line) });
  const authentication = createClientAuthentication({ tokens, throttle: createThrottle(), clock });
  let origin = '';
  const handler = createRequestHandler({
    routes: [
      ...tokenRoutes({ tokens, authentication }),
      ...introspectionRoutes({ tokens, authentication, gate, users: store.users, issuer: () => origin }),
      ...revocationRoutes({ tokens, authentication }),
      ...discoveryRoutes({ issuer: () => origin, products }),
      ...forwardAuthRoutes({ gate }),
    ],
    gate,
    clock,
    log,
    remoteAddress: createRemoteAddress([cidr('127.0.0.0/8')]),
    ...(bodyTimeoutMs === undefined ? {} : { bodyTimeoutMs }),
  });
  const listener = createListener({ handler, tls: null, clock, log });
  const sockets = new Set<Socket>();
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await listener.close();
  });
  const port = await listener.listen('127.0.0.1', 0);
  origin = `http://127.0.0.1:${port}`;
  return { ...services, port, origin, logged, sockets };
}

export function cidr(text: string) {
  const verdict = parseCidr(text);
  if (!verdict.ok) throw new TypeError(verdict.description);
  return verdict.cidr;
}

export type TestClient = {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly applicationId: string;
  readonly user: User;
};

/** Creates an application with these scopes and a user with permissions of the same names. */
export async function makeClient(
  services: OAuthService,
  scopes: readonly string[] = ['employees:view', 'employees:edit'],
  user: Readonly<Record<string, unknown>> = {},
): Promise<TestClient> {
  const bound = await makeUser(services, { permissions: scopes, ...user });
  const { application, clientSecret } = await makeApplication(services, { userId: bound.id, scopes });
  return { clientId: application.clientId, clientSecret, applicationId: application.id, user: bound };
}

export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string };

/** Parses the JSON body of a response. */
export function bodyOf({ text }: Answer): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}

/** The code of the error body (contract §1.4). */
export function codeOf(answer: Answer): string {
  return (bodyOf(answer).error as { code: string }).code;
}

type Headed = Readonly<Record<string, string>>;

export async function send(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, { redirect: 'error', ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export function postJson({ origin }: OAuthService, path: string, body: unknown, headers: Headed = {}): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return send(origin + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: text,
  });
}

/** A `form` of type string is sent unchanged. */
export function postForm(
  { origin }: OAuthService,
  path: string,
  form: string | Headed,
  headers: Headed = {},
): Promise<Answer> {
  const body = typeof form === 'string' ? form : new URLSearchParams(form).toString();
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return send(origin + path, { method: 'POST', headers: { ...type, ...headers }, body });
}

export function basic(clientId: string, clientSecret: string): { readonly Authorization: string } {
  return { Authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` };
}

/** A raw connection: sends bytes unchanged, and keeps everything that it receives. */
export type RawConnection = {
  write(text: string | Uint8Array): void;
  end(): void;
  /** Resolves with the received text once it matches or the server has closed the connection. */
  received(pattern: RegExp): Promise<string>;
  /** Resolves with the received text once the server has closed the connection. */
  closed(): Promise<string>;
};

export async function connectRaw({ port, sockets }: OAuthService): Promise<RawConnection> {
  const socket = connect(port, '127.0.0.1');
  sockets.add(socket);
  let text = '';
  let over = false;
  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    notify();
  });
  // A reset also ends the connection. The text received before it stays available.
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    over = true;
    notify();
  });
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  const until = (isDone: () => boolean): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!isDone()) return;
        listeners.delete(look);
        resolve(text);
      };
      listeners.add(look);
      look();
    });
  return {
    write: (bytes) => void socket.write(bytes),
    end: () => void socket.end(),
    received: (pattern) => until(() => over || pattern.test(text)),
    closed: () => until(() => over),
  };
}

/** Builds the text of a request. Adds Content-Length unless the headers already frame the body. */
export function rawRequest(path: string, headers: readonly string[], body = ''): string {
  const framed = headers.some((header) => /^(?:content-length|transfer-encoding):/i.test(header));
  const length = framed ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return [`POST ${path} HTTP/1.1`, 'Host: localhost', ...headers, ...length, '', body].join('\r\n');
}
