/** Two people change the same webhook. `If-Match` refuses the change that is based on an older state. */
import { cleanUp, startSallyport, subscribe } from './set-up.ts';

const { url, token, call } = await startSallyport();
const endpoint = 'https://hooks.example.com/in';
const { webhookId } = await subscribe(call, { url: endpoint, eventType: 'order.created' });

const webhook = `${url}/services/api/x/edge/v1/webhooks/${webhookId}`;
const headers = { Authorization: `Bearer ${token}` };
const etag = (await fetch(webhook, { headers })).headers.get('etag') ?? '';

const patch = async (fields: object): Promise<void> => {
  const reply = await fetch(webhook, {
    method: 'PATCH',
    headers: { ...headers, 'Content-Type': 'application/merge-patch+json', 'If-Match': etag },
    body: JSON.stringify(fields),
  });
  const { timeoutSeconds, retry, error } = JSON.parse(await reply.text());
  console.log(
    reply.status,
    reply.ok ? `${timeoutSeconds} s, ${retry.policy}, ${retry.maxAttempts} attempts` : error.code,
  );
};
// Fields that are absent stay as they are, also those of an object.
await patch({ timeoutSeconds: 30, retry: { maxAttempts: 5 } });
await patch({ timeoutSeconds: 5 });

await cleanUp();

// Output:
// 200 30 s, exponential, 5 attempts
// 412 precondition_failed
