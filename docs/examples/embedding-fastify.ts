import fastify from 'fastify';
import { callerOf, createSallyport, readConfig } from 'sallyport';

const sallyport = await createSallyport(readConfig(process.env));
const app = fastify();

app.addHook('onRequest', sallyport.middleware);

app.post('/orders', { onRequest: sallyport.guard('orders:create') }, async (request, reply) => {
  const { userId, userName } = callerOf(request);
  const data = { orderedBy: userName };
  const { events } = await sallyport.publish({ type: 'order.created', data, actorId: userId });
  return reply.code(201).send({ ...data, eventId: events[0]?.id });
});

app.addHook('onClose', () => sallyport.stop());
process.once('SIGTERM', () => app.close());

await sallyport.startDelivery();
const url = await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' });
console.log(`listening on port ${new URL(url).port}`);
