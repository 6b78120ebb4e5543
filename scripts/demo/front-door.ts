/** A link that signs a browser in to the portal of the demo. Browsers send a cookie to every port of its host. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import type { Services } from '../../src/services/services.ts';

export type FrontDoor = { readonly url: string; close(): void };

/** `portal`: the address of the portal, with `localhost` as its host. Only who knows the link gets in. */
export async function openFrontDoor(services: Services, userId: string, portal: string): Promise<FrontDoor> {
  const path = `/${randomBytes(16).toString('hex')}`;
  const begin = async (userAgent: string): Promise<string | null> => {
    const user = await services.users.get(userId);
    const begun = await services.sessions.begin(user, 'password', { address: '127.0.0.1', userAgent });
    return begun?.token ?? null;
  };
  const server = createServer((request, response) => {
    if (request.url !== path) return void response.writeHead(404).end();
    begin(request.headers['user-agent'] ?? '').then(
      (token) => {
        const cookie = `${SESSION_COOKIE}=${token}; Path=/; HttpOnly; SameSite=Lax`;
        response.writeHead(303, { location: portal, 'set-cookie': cookie, 'cache-control': 'no-store' }).end();
      },
      () => response.writeHead(503).end('The portal is not ready.'),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}${path}`,
    close: () => void server.close().closeAllConnections(),
  };
}
