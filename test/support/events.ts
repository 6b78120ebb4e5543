/** Inserts events and subscribed webhooks into the store, without the checks of the use cases. */
import { type Idempotency, type NewEvent, OPERATOR_ONLY } from '../../src/domain/event.ts';
import type { WebhookConfiguration } from '../../src/domain/webhook.ts';
import type { TestStore } from './store.ts';

export function newEvent({ ids, clock }: TestStore, type: string, more: Partial<NewEvent> = {}): NewEvent {
  return {
    id: ids.uuid(),
    type,
    audience: OPERATOR_ONLY,
    dataJson: '{"n":1}',
    subject: null,
    correlationId: ids.uuid(),
    actorId: null,
    orderingKey: null,
    createdAt: clock(),
    excluded: [],
    idempotency: null,
    ...more,
  };
}

/** An idempotency key. Default: publisher `p`, an all-zero content hash, and a lifetime of 24 hours. */
export function idempotency({ clock }: TestStore, key: string, more: Partial<Idempotency> = {}): Idempotency {
  return { publisher: 'p', key, expiresAt: clock() + 24 * 3_600_000, contentHash: new Uint8Array(32), ...more };
}

/** Creates a webhook with its own endpoint and returns its number. */
export async function subscribe(
  testStore: TestStore,
  eventTypes: readonly string[],
  more: Partial<WebhookConfiguration> = {},
): Promise<number> {
  const { ids, clock, entry, database, store } = testStore;
  const id = ids.uuid();
  const now = clock();
  await database.commit([
    {
      sql: `INSERT INTO endpoint
          (id, customer_id, name, url, api_key, secret, secret_created_at, token_challenge, verified, enabled,
            enable_when_verified, created_at, updated_at)
        VALUES (@id, @customerId, 'receiver', 'https://receiver.example/', @key, @key, @now, @no, @no, @yes, @yes, @now, @now)`,
      params: { id, customerId: more.customerId ?? '', now, key: new Uint8Array(1), yes: true, no: false },
    },
  ]);
  const webhookId = ids.uuid();
  await store.webhooks.insert(
    {
      id: webhookId,
      customerId: null,
      name: `for ${eventTypes.join(' ')}`,
      mode: 'push',
      endpointId: id,
      eventTypes,
      filter: null,
      format: 'records',
      batch: false,
      thin: false,
      customHeaders: [],
      encryptionKeyName: null,
      ordered: false,
      maxBatchRecords: 100,
      maxRecordsPerSecond: null,
      retryPolicy: 'exponential',
      maxAttempts: 20,
      retryDelaysSeconds: null,
      standardWebhooks: false,
      signature: null,
      heartbeatSeconds: 300,
      timeoutSeconds: 15,
      createdAt: now,
      updatedAt: now,
      ...more,
    },
    entry(),
  );
  const webhook = await store.webhooks.get(webhookId);
  if (webhook === null) throw new Error('the webhook was not created');
  return webhook.progress.webhookNumber;
}

/** Returns the log of every webhook as offsets and event ids. */
export async function logs({ rows }: TestStore): Promise<Map<number, [offset: number, eventId: string][]>> {
  const found = new Map<number, [number, string][]>();
  const sql = `SELECT o.webhook_number, o.record_offset, e.id FROM outbox AS o LEFT JOIN event AS e ON e.key = o.event_key
    ORDER BY o.webhook_number, o.record_offset`;
  for (const { webhook_number, record_offset, id } of await rows(sql)) {
    const log = found.get(Number(webhook_number)) ?? [];
    log.push([Number(record_offset), String(id)]);
    found.set(Number(webhook_number), log);
  }
  return found;
}
