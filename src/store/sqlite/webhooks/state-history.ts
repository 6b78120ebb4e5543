/** The states that a webhook has been in, from the events that told of them (`event`), as long as those are kept. Reads only. */

import type { WebhookState } from '../../../webhooks/webhook.ts';
import type { StateHistoryStore } from '../../webhooks.ts';
import type { Database } from '../driver/database.ts';

// Served by event_of_webhook, which takes both terms as they stand here.
const OF_WEBHOOK = `
  SELECT data ->> 'state' AS state, data ->> 'previousState' AS previous_state, data ->> 'reason' AS reason, created_at
  FROM event INDEXED BY event_of_webhook
  WHERE type GLOB 'webhook.*' AND data ->> 'webhookId' = @webhookId AND data ->> 'state' IS NOT NULL
  ORDER BY key DESC LIMIT @limit`;

export function stateHistoryStore(db: Database): StateHistoryStore {
  return {
    ofWebhook: async (webhookId, limit) =>
      (await db.all(OF_WEBHOOK, { webhookId, limit })).map((row) => ({
        state: row.state as WebhookState,
        previousState: row.previous_state as WebhookState,
        reason: row.reason as string | null,
        at: Number(row.created_at),
      })),
  };
}
