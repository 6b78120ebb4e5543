/** A program that embeds Sallyport guards one of its routes with a scope. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { callerOf } from 'sallyport';
import { cleanUp, requestToken, startSallyport } from './set-up.ts';

const { sallyport, call, token: administrator } = await startSallyport();

const mayCreateOrders = sallyport.guard('orders:create');
const server = createServer((request, response) => {
  sallyport.middleware(request, response, () => {
    mayCreateOrders(request, response, () => {
      response.end(`ordered by ${callerOf(request).userName}`);
    });
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const orders = `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`;

// An application that may ask for the scope, and its user, who has the permission of the same name.
const scopes = [{ name: 'orders:create', description: 'Place orders' }];
await call('POST', 'products', { name: 'Orders', scopes, rules: [] });
const user = await call('POST', 'users', { userName: 'shop', permissions: ['orders:create'] });
const application = { name: 'Web shop', userId: user.id, scopes: ['orders:create'] };
const shop = await call<{ clientId: string; clientSecret: string }>('POST', 'applications', application);
const shopToken = await requestToken(new URL(orders).origin, shop);

const order = async (token: string): Promise<void> => {
  const reply = await fetch(orders, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  const text = await reply.text();
  console.log(reply.status, reply.ok ? text : JSON.parse(text).error.code);
};
await order(shopToken);
await order(administrator);
await order('no token at all');

server.close();
server.closeAllConnections();
await cleanUp();

// Output:
// 200 ordered by shop
// 401 insufficient_scope
// 401 invalid_token
