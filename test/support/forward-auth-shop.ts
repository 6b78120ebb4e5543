/** An API behind a proxy, the product with its rules, and callers with tokens. */
import type { TestContext } from 'node:test';
import { type Catalogue, compileCatalogue } from '../../src/domain/catalogue.ts';
import { cleanUp } from './cleanup.ts';
import { type ApiClient, succeeded, tokenFor } from './client.ts';
import type { Behind, RunningProxy } from './proxies.ts';
import { type RawAnswer, type RawRequest, sendRaw } from './raw-request.ts';
import { type ServiceInProcess, startService } from './service.ts';
import { startUpstream, type Upstream, type UpstreamRequest } from './upstream.ts';

const PRODUCT = {
  name: 'Shop',
  scopes: [
    { name: 'orders:view', description: '', offered: true },
    { name: 'orders:edit', description: '' },
    { name: 'shop:admin', description: '' },
  ],
  rules: [
    { methods: ['GET'], path: '/shop/orders', scope: 'orders:view' },
    { methods: ['GET'], path: '/shop/orders/{id}', scope: 'orders:view' },
    { methods: ['GET'], path: '/shop/orders/{id}/lines/{rest*}', scope: 'orders:view' },
    { methods: ['PUT', 'POST'], path: '/shop/orders/{id}', scope: 'orders:edit' },
    { methods: ['GET', 'POST'], path: '/shop/admin/{rest*}', scope: 'shop:admin' },
  ],
};
export const CATALOGUE: Catalogue = compileCatalogue([{ id: 'shop', ...PRODUCT }]);

type Fields = Readonly<Record<string, unknown>>;

export type Shop = {
  readonly service: ServiceInProcess;
  readonly admin: ApiClient;
  readonly upstream: Upstream;
  readonly proxy: RunningProxy;
  readonly user: { readonly id: string; readonly userName: string };
  readonly clientId: string;
  /** Tokens of an application with both order scopes. Its user has both order permissions and `shop:admin`. */
  readonly viewer: string;
  readonly editor: string;
  /** Sends one request to the proxy. If `token` is null, it has none. */
  send(target: string, token: string | null, request?: RawRequest): Promise<RawAnswer>;
  /** The requests that the upstream received since the last call. */
  arrived(): readonly UpstreamRequest[];
};

export async function openShop(t: TestContext, start: (behind: Behind) => Promise<RunningProxy>): Promise<Shop> {
  const upstream = await startUpstream();
  cleanUp(t, upstream.close);
  const service = await startService(t);
  const { admin, url } = service;
  const made = <T>(path: string, body: Fields): Promise<T> => succeeded<T>(admin.post(path, body));
  await made('products', PRODUCT);
  const scopes = ['orders:view', 'orders:edit'];
  const userName = 'Grace Höpper, 100%';
  const permissions = [...scopes, 'shop:admin'];
  const user = await made<{ id: string }>('users', { userName: userName.replaceAll(' ', '_'), permissions });
  const application = { name: 'Web shop', userId: user.id, scopes };
  const credentials = await made<{ clientId: string; clientSecret: string }>('applications', application);
  const proxy = await start({ sallyport: url, upstream: upstream.url });
  cleanUp(t, proxy.stop);
  let seen = 0;
  return {
    service,
    admin,
    upstream,
    proxy,
    user: { id: user.id, userName: userName.replaceAll(' ', '_') },
    clientId: credentials.clientId,
    viewer: await tokenFor(url, credentials, 'orders:view'),
    editor: await tokenFor(url, credentials, 'orders:edit orders:view'),
    send: (target, token, request = {}) => {
      const bearer = token === null ? [] : [`Authorization: Bearer ${token}`];
      return sendRaw(proxy.port, target, { ...request, headers: [...bearer, ...(request.headers ?? [])] });
    },
    arrived: () => {
      const fresh = upstream.requests.slice(seen);
      seen = upstream.requests.length;
      return fresh;
    },
  };
}

/** A customer of the shop, and a token of its application. */
export async function customerOf({
  admin,
  service,
}: Shop): Promise<{ readonly customerId: string; readonly token: string }> {
  const { id: customerId } = await succeeded<{ id: string }>(admin.post('customers', { name: 'Acme' }));
  const scopes = ['orders:view'];
  const user = await succeeded<{ id: string }>(
    admin.post('users', { customerId, userName: 'acme-buyer', permissions: scopes }),
  );
  const application = { customerId, name: 'Acme', userId: user.id, scopes };
  const credentials = await succeeded<{ clientId: string; clientSecret: string }>(
    admin.post('applications', application),
  );
  return { customerId, token: await tokenFor(service.url, credentials) };
}
