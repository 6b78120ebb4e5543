/** An application exchanges its client credentials for an access token, and calls the API with it. */
import { cleanUp, startSallyport } from './set-up.ts';

const { url, application } = await startSallyport();

const issued = await fetch(`${url}/services/api/oauth2/token`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({
    clientId: application.clientId,
    clientSecret: application.clientSecret,
    grantType: 'client_credentials',
    scope: 'webhooks:view events:publish',
  }),
});
const token = (await issued.json()) as { access_token: string; expires_in: number; scope: string };
console.log(`${issued.status}: ${token.scope}, for ${token.expires_in} seconds`);

const call = async (path: string): Promise<void> => {
  const reply = await fetch(`${url}/services/api/x/edge/v1/${path}`, {
    headers: { Authorization: `Bearer ${token.access_token}` },
  });
  const { items, error } = JSON.parse(await reply.text());
  console.log(reply.status, reply.ok ? `${items.length} ${path}` : error.code);
};
await call('webhooks');
// The token has no scope for this one.
await call('users');

await cleanUp();

// Output:
// 200: events:publish webhooks:view, for 3600 seconds
// 200 0 webhooks
// 401 insufficient_scope
