/** A portal with deliveries: some were accepted, and some are dead. */
import type { TestContext } from 'node:test';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { type DeliverPortal, MARKUP, startDeliverPortal } from './deliver-portal.ts';
import { connect, makeEventType } from './journey.ts';
import type { ReceivingEndpoint } from './receiver.ts';
import { ACTOR } from './services.ts';

/** Both webhooks subscribe to it. */
export const TYPE = 'order.created';
/** Only the shop subscribes to it. */
export const OTHER = 'stock.low';

export type Sent = DeliverPortal & {
  readonly shop: { readonly at: ReceivingEndpoint; readonly webhook: WebhookView };
  readonly dock: { readonly at: ReceivingEndpoint; readonly webhook: WebhookView };
};

/** Two webhooks: the shop accepted everything, and the dock rejected everything. Each request had one record. */
export async function sent(t: TestContext, orders = 3): Promise<Sent> {
  const d = await startDeliverPortal(t);
  const { admin, portal } = d;
  const { log, services } = portal.service;
  for (const type of [TYPE, OTHER]) await makeEventType(admin, type);
  const single = { maxBatchRecords: 1, heartbeatSeconds: 0 };
  const shop = await connect(d, [TYPE, OTHER], { webhook: { ...single, name: 'Shop' }, endpoint: { name: 'Shop' } });
  const dock = await connect(d, [TYPE], {
    webhook: { ...single, name: 'Dock', retry: { policy: 'linear', maxAttempts: 1 } },
    endpoint: { name: 'Dock' },
  });
  dock.at.answer(() => ({ status: 422, headers: { 'x-note': MARKUP }, body: `{"error":"${MARKUP}"}` }));
  for (let n = 1; n <= orders; n += 1) {
    const data = { n, note: MARKUP };
    await services.publish({ type: TYPE, data, subject: n === 1 ? 'anna <b>' : 'berta' }, ACTOR);
    await log.nextAttempt(shop.webhook.id);
    await log.nextAttempt(dock.webhook.id);
  }
  await services.publish({ type: OTHER, data: { n: 0 } }, ACTOR);
  await log.nextAttempt(shop.webhook.id);
  return { ...d, shop, dock };
}
