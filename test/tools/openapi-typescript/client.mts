/** Uses the API with the types that openapi-typescript made of its description: client.mts <url> <client id> <client secret> */
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { paths } from './sallyport.d.ts';

const [baseUrl = '', clientId = '', clientSecret = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl });
const issued = await client.POST('/services/api/oauth2/token', {
  body: { clientId, clientSecret, grantType: 'client_credentials' },
});
assert.ok(issued.data, JSON.stringify(issued.error));
const { access_token: token } = issued.data;
client.use({ onRequest: ({ request }) => request.headers.set('Authorization', `Bearer ${token}`) });

const webhooks = await client.GET('/services/api/x/edge/v1/webhooks', { params: { query: { limit: 10 } } });
assert.deepEqual(
  webhooks.data?.items.map(({ name, retry }) => [name, retry.maxAttempts]),
  [['Orders', 20]],
);

const endpoint = await client.POST('/services/api/x/edge/v1/endpoints', {
  body: { name: 'Generated', url: 'https://receiver.example/hook' },
});
assert.equal(endpoint.data?.contentEncoding, null, JSON.stringify(endpoint.error));

const customer = await client.POST('/services/api/x/edge/v1/customers', {
  body: { name: 'Generated', limits: { endpoints: 5 } },
});
assert.equal(customer.data?.limits.endpoints, 5, JSON.stringify(customer.error));

const refused = await client.POST('/services/api/x/edge/v1/endpoints', { body: { name: '', url: 'no address' } });
assert.ok(refused.error !== undefined && 'error' in refused.error);
assert.equal(refused.error.error.code, 'validation_failed');
console.log('ok');
