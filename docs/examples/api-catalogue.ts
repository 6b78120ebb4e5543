/** Rules for your own API: a proxy asks about every request, and Sallyport answers from the API catalogue. */
import { cleanUp, requestToken, startSallyport } from './set-up.ts';

const { url, call } = await startSallyport();

await call('POST', 'products', {
  name: 'Shop',
  scopes: [
    { name: 'orders:view', description: 'See orders' },
    { name: 'orders:edit', description: 'Change orders' },
  ],
  rules: [
    { methods: ['GET'], path: '/shop/orders/{id}', scope: 'orders:view' },
    { methods: ['PATCH'], path: '/shop/orders/{id}', scope: 'orders:edit' },
  ],
});
const user = await call('POST', 'users', { userName: 'shop', permissions: ['orders:view'] });
const scopes = ['orders:view', 'orders:edit'];
type Client = { clientId: string; clientSecret: string };
const application = await call<Client>('POST', 'applications', { name: 'Web shop', userId: user.id, scopes });
const token = await requestToken(url, application);

// This is what a proxy asks: docs/examples/nginx.conf and docs/examples/Caddyfile configure one.
const ask = async (method: string, uri: string): Promise<void> => {
  const { status, headers } = await fetch(`${url}/services/api/oauth2/forward-auth`, {
    headers: { Authorization: `Bearer ${token}`, 'X-Forwarded-Method': method, 'X-Forwarded-Uri': uri },
  });
  const [, error] = /error="(\w+)"/.exec(headers.get('www-authenticate') ?? '') ?? [];
  console.log(`${method} ${uri}: ${status} ${error ?? headers.get('x-auth-user-name')}`);
};
await ask('GET', '/shop/orders/17');
// The token has the scope, but its user lacks the permission.
await ask('PATCH', '/shop/orders/17');
// No rule names this path.
await ask('GET', '/shop/customers/17');
// A path that servers read in different ways is refused before any rule is looked up.
await ask('GET', '/shop/orders/..%2Fcustomers');

await cleanUp();

// Output:
// GET /shop/orders/17: 200 shop
// PATCH /shop/orders/17: 401 insufficient_permission
// GET /shop/customers/17: 401 insufficient_scope
// GET /shop/orders/..%2Fcustomers: 401 insufficient_scope
