/** The states that a webhook has been in, from the events that told of them (`event`), as long as those are kept. Reads only. */
import type { Database } from '../driver/database.ts';
import type { WebhookState } from './webhooks.ts';

export type PastState = {
  readonly state: WebhookState;
  readonly previousState: WebhookState;
  /** The code of what the webhook's state was then the result of; with the status, where the endpoint had answered one. */
  readonly reason: string | null;
  readonly at: number;
};

// Served by event_of_webhook, which takes both terms as they stand here.
const OF_WEBHOOK = `
  SELECT data ->> 'state' AS state, data ->> 'previousState' AS previous_state, data ->> 'reason' AS reason, created_at
  FROM event INDEXED BY event_of_webhook
  WHERE type GLOB 'webhook.*' AND data ->> 'webhookId' = @webhookId AND data ->> 'state' IS NOT NULL
  ORDER BY key DESC LIMIT @limit`;

export type StateHistoryStore = {
  /** The changes of state, newest first. */
  ofWebhook(webhookId: string, limit: number): Promise<PastState[]>;
};

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
