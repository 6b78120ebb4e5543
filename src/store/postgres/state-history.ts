/** The past states of a webhook, from the events about it (`event`). */

import type { PastState } from '../../domain/webhook.ts';
import type { Database } from '../port/database.ts';
import type { StateHistoryStore } from '../port/webhooks.ts';
import { readRow } from '../shared/table.ts';

// Index: event_of_webhook of each partition, which matches the expression and the condition on the type.
const OF_WEBHOOK = `
  SELECT CAST(data AS JSON) ->> 'state' AS state, CAST(data AS JSON) ->> 'previousState' AS previous_state,
    CAST(data AS JSON) ->> 'reason' AS reason, created_at AS at
  FROM event
  WHERE type LIKE 'webhook.%' AND CAST(data AS JSON) ->> 'webhookId' = @webhookId AND CAST(data AS JSON) ->> 'state' IS NOT NULL
  ORDER BY key DESC LIMIT @limit`;

export function stateHistoryStore(db: Database): StateHistoryStore {
  return {
    ofWebhook: async (webhookId, limit) =>
      (await db.all(OF_WEBHOOK, { webhookId, limit })).map((row) => readRow<PastState>(row)),
  };
}
