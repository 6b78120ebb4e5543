/** With an `Idempotency-Key`, a request that creates a resource can be repeated until its reply arrives. */
import { cleanUp, startSallyport } from './set-up.ts';

const { url, token, call } = await startSallyport();

const create = async (name: string): Promise<{ status: number; id: string; secret: string }> => {
  const reply = await fetch(`${url}/services/api/x/edge/v1/endpoints`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': 'setup-of-acme',
    },
    body: JSON.stringify({ name, url: 'https://hooks.example.com/acme' }),
  });
  return { status: reply.status, ...JSON.parse(await reply.text()) };
};

const created = await create('acme');
const repeated = await create('acme');
console.log(created.status, repeated.status, 'same endpoint:', created.id === repeated.id);
console.log('same secret, which is shown once otherwise:', created.secret === repeated.secret);
console.log('another body under the same key:', (await create('emca')).status);
const { items } = await call<{ items: unknown[] }>('GET', 'endpoints');
console.log('endpoints:', items.length);

await cleanUp();

// Output:
// 201 201 same endpoint: true
// same secret, which is shown once otherwise: true
// another body under the same key: 409
// endpoints: 1
