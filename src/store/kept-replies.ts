/** Replies to requests with an Idempotency-Key (`kept_reply`, contract §4). They are sealed: some show a secret. */
import type { Statement } from './sqlite/driver/database.ts';

/** Whose key it is: two applications may use the same one. */
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
  find(owner: ReplyKey, now: number): Promise<KeptReply | null>;
  /**
   * Keeps the reply until `expiresAt`, in the transaction of what it is the reply to. Put first there: of two with the same key the
   * second is then refused for its key, and not for a name that the first has just taken.
   */
  keep(owner: ReplyKey, reply: KeptReply, span: { readonly now: number; readonly expiresAt: number }): Statement[];
};
