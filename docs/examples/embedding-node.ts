import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { callerOf, createSallyport, readConfig } from 'sallyport';

const sallyport = await createSallyport(readConfig(process.env));
const mayCreateOrders = sallyport.guard('orders:create');

const server = createServer((request, response) => {
  sallyport.middleware(request, response, () => {
    if (request.method !== 'POST' || request.url !== '/orders') {
      response.writeHead(404).end('no such page');
      return;
    }
    mayCreateOrders(request, response, async () => {
      try {
        const { userId, userName } = callerOf(request);
        const data = { orderedBy: userName };
        const { events } = await sallyport.publish({ type: 'order.created', data, actorId: userId });
        response.writeHead(201, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify({ ...data, eventId: events[0]?.id }));
      } catch (error) {
        console.error(error);
        response.writeHead(500).end('the order was not taken');
      }
    });
  });
});

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', async () => {
  await sallyport.startDelivery();
  console.log(`listening on port ${(server.address() as AddressInfo).port}`);
});

process.once('SIGTERM', () => {
  server.close(() => sallyport.stop());
});
