/** The states that a webhook has been in, from the events that told of them (`event`), as long as those are kept. Reads only. */
import type { PastState } from '../webhooks/webhook.ts';

export type StateHistoryStore = {
  /** The changes of state, newest first. */
  ofWebhook(webhookId: string, limit: number): Promise<PastState[]>;
};
