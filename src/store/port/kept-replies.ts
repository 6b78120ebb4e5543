/** Replies to requests with an Idempotency-Key (`kept_reply`, contract §4.3). They are sealed, because some contain a secret. */
import type { Statement } from './database.ts';

/** The key and its application. Two applications may use the same key. */
export type ReplyKey = { readonly applicationId: string; readonly key: string };

export type KeptReply = {
  /** The hash of the request that it answers, in hex. */
  readonly requestHash: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** JSON text, as it was sent. */
  readonly body: string;
};

export type KeptReplyStore = {
  /** Resolves with a reply once what it says is durable. */
  find(owner: ReplyKey, now: number): Promise<KeptReply | null>;
  /**
   * Keeps the reply until `expiresAt`. The statements go first in the transaction of the request: of two requests with the same key, the
   * second one is then refused because of its key, and not because of a name that the first one took.
   */
  keep(owner: ReplyKey, reply: KeptReply, span: { readonly now: number; readonly expiresAt: number }): Statement[];
};
