/** The past states of a webhook, from the events about it (`event`). */

import type { PastState } from '../../domain/webhook.ts';
import type { Database } from '../port/database.ts';
import type { StateHistoryStore } from '../port/webhooks.ts';
import { readRow } from '../shared/table.ts';

// Index: event_of_webhook, which matches these two expressions literally.
const OF_WEBHOOK = `
  SELECT data ->> 'state' AS state, data ->> 'previousState' AS previous_state, data ->> 'reason' AS reason, created_at AS at
  FROM event INDEXED BY event_of_webhook
  WHERE type GLOB 'webhook.*' AND data ->> 'webhookId' = @webhookId AND data ->> 'state' IS NOT NULL
  ORDER BY key DESC LIMIT @limit`;

export function stateHistoryStore(db: Database): StateHistoryStore {
  return {
    ofWebhook: async (webhookId, limit) =>
      (await db.all(OF_WEBHOOK, { webhookId, limit })).map((row) => readRow<PastState>(row)),
  };
}
