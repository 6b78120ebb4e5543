import type { AddressInfo } from 'node:net';
import express from 'express';
import { callerOf, createSallyport, readConfig } from 'sallyport';

const sallyport = await createSallyport(readConfig(process.env));
const app = express();

app.use(sallyport.middleware);
app.use(express.json());

app.post('/orders', sallyport.guard('orders:create'), async (request, response) => {
  const { userId, userName } = callerOf(request);
  const data = { orderedBy: userName };
  const { events } = await sallyport.publish({ type: 'order.created', data, actorId: userId });
  response.status(201).json({ ...data, eventId: events[0]?.id });
});

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', async () => {
  await sallyport.startDelivery();
  console.log(`listening on port ${(server.address() as AddressInfo).port}`);
});

process.once('SIGTERM', () => {
  server.close(() => sallyport.stop());
});
