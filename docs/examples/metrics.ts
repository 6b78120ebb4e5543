/** The metrics that Prometheus scrapes. From the same machine it needs no token. */
import { cleanUp, createQueue, readUntil, serveHttps, startSallyport, subscribe } from './set-up.ts';

const { sallyport, url, call } = await startSallyport();
const received = createQueue<void>();
const receiver = await serveHttps((_, response) => {
  response.end();
  received.put();
});
const { webhookId } = await subscribe(call, { url: receiver, eventType: 'order.created' });
await sallyport.publish({ type: 'order.created', data: { orderId: 42 } });
await received.next();

const scrape = async (): Promise<string> => (await fetch(`${url}/metrics`)).text();
const delivered = `sallyport_deliveries_total{webhook="${webhookId}",outcome="delivered"} 1`;
const metrics = await readUntil(scrape, (text) => text.includes(delivered));
for (const line of metrics.split('\n')) {
  if (/^sallyport_(token_requests|deliveries)_total.* 1$/.test(line)) console.log(line.replace(webhookId, '…'));
}

await cleanUp();

// Output:
// sallyport_token_requests_total{result="issued"} 1
// sallyport_deliveries_total{webhook="…",outcome="delivered"} 1
