/** With `ordered: "key"` (contract §5.9): the keys whose records wait, and giving up the waiting records of one. */

import { z } from 'zod';
import type { Acting } from '../domain/acting.ts';
import { auditEntry } from '../domain/audit.ts';
import type { Webhook } from '../domain/webhook.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { instant, isoInstant, page, textSchema } from '../kernel/schemas.ts';
import { textProblem } from '../kernel/validation.ts';
import { cursorOfParts, partsOfCursor, readPage } from '../resources/list-rules.ts';
import type { DeliveryVerbs, LastAttempt, WaitingKey } from '../store/port/deliveries.ts';

const waitingKeyView = z
  .object({
    orderingKey: z.string(),
    waitingRecords: z.int().meta({ description: 'How many of its records wait; at most 1,000 batches are counted.' }),
    firstOffset: z.int().meta({ description: 'The record that the others of the key wait for.' }),
    attemptCount: z.int().meta({ description: 'How often that record was sent.' }),
    nextAttemptAt: instant.nullable().meta({ description: 'Null: when its turn comes.' }),
    responseStatus: z.int().nullable().meta({ description: 'Of the last attempt of that record.' }),
    errorClass: z.string().nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: 'WaitingKey', description: 'A key of a webhook whose records wait.' });
export const waitingKeysView = page(waitingKeyView);
export type WaitingKeys = z.infer<typeof waitingKeysView>;

export const giveUpInput = z
  .strictObject({ orderingKey: textSchema(1, 200) })
  .meta({ id: 'GiveUpInput', description: 'The key whose waiting records are given up.' });
type GiveUpInput = z.output<typeof giveUpInput>;

export const givenUpView = z
  .object({ givenUp: z.int() })
  .meta({ id: 'GivenUp', description: 'How many records are dead now.' });

type Dependencies = {
  readonly store: DeliveryVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wake: () => void;
};

export type KeyOrder = {
  /**
   * The keys whose records wait because the first of them failed or is late, in ascending order. Throws 409 without `ordered: "key"`, and
   * 400 for a cursor of another list.
   */
  waitingKeys(id: string, page: { readonly cursor: string | null; readonly limit: number }): Promise<WaitingKeys>;
  /** Makes the waiting records of a key dead, except one that is being sent. They can be sent again. */
  giveUp(id: string, input: GiveUpInput, acting: Acting): Promise<{ readonly givenUp: number }>;
};

export function createKeyOrder(
  { store, clock, ids, wake }: Dependencies,
  get: (id: string) => Promise<Webhook>,
): KeyOrder {
  const inOrder = async (id: string): Promise<Webhook> => {
    const webhook = await get(id);
    if (webhook.ordered === 'key') return webhook;
    throw new Refusal('invalid_state', 'the webhook does not keep the order by key: no key waits');
  };
  return {
    waitingKeys: async (id, { cursor, limit }) => {
      const after = cursor === null ? '' : keyOf(cursor);
      const { webhookNumber } = (await inOrder(id)).progress;
      const list = (count: number) => store.waitingKeys.list(webhookNumber, after, count);
      const { items: keys, nextCursor } = await readPage({ limit }, list, (key) => cursorOf(key.orderingKey));
      const attempts = await store.attempts.lastOf(keys.map(({ firstOffset: offset }) => ({ webhookNumber, offset })));
      return { items: keys.map((key, at) => viewKey(key, attempts[at] ?? null)), nextCursor };
    },
    giveUp: async (id, { orderingKey: key }, { actor }) => {
      const { progress, customerId } = await inOrder(id);
      const now = clock();
      const givenUp = await store.waitingKeys.giveUp(
        { webhookNumber: progress.webhookNumber, key, now },
        auditEntry(ids, actor, 'webhook.give-up', `webhook:${id}`, {
          at: now,
          customerId,
          changes: { orderingKey: { from: key, to: null } },
        }),
      );
      wake();
      return { givenUp };
    },
  };
}

const LIST = 'waiting-keys';

/** A key may hold any character, so the cursor is not the key itself. */
function cursorOf(key: string): string {
  return cursorOfParts([LIST, key]);
}

/** The key of a cursor. Throws 400. */
function keyOf(cursor: string): string {
  const [, key] = partsOfCursor(cursor);
  if (typeof key !== 'string' || textProblem(key) !== null || cursorOf(key) !== cursor)
    throw refuseField('cursor', 'is not a cursor of this list');
  return key;
}

function viewKey({ nextAttemptAt, ...key }: WaitingKey, attempt: LastAttempt | null): WaitingKeys['items'][number] {
  const { responseStatus = null, errorClass = null, errorMessage: error = null } = attempt ?? {};
  return { ...key, nextAttemptAt: isoInstant(nextAttemptAt), responseStatus, errorClass, error };
}
