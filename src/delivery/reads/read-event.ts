/** Reads one event (contract §12.2), which the receiver of a thin body fetches. */

import { z } from 'zod';
import type { LogRecord } from '../../domain/batch.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { type Clock, isUuidV7 } from '../../kernel/ids.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { idInput } from '../../kernel/schemas.ts';
import type { DeliveryVerbs } from '../../store/port/deliveries.ts';
import type { DispatchVerbs } from '../../store/port/dispatch.ts';
import type { Store } from '../../store/port/store.ts';
import type { WebhookVerbs } from '../../store/port/webhooks.ts';
import { joinText } from '../../wire/payload.ts';
import { encodeBody, someMustBeEncrypted } from '../body.ts';
import { currentKey, type RecordsBody, recordsReading } from './records.ts';

/**
 * Reads an event that a webhook of the caller gets, delivered or not. `webhookId` names one of them: with its key the event is encrypted.
 * Throws `Refusal` for an unknown event or webhook, for an erased event, and if the event must be encrypted and there is no key or it has
 * expired.
 */
export type ReadEvent = (eventId: string, webhookId: string | null) => Promise<RecordsBody>;

/** The input of a program. */
export const readEventInput = z.strictObject({ webhookId: idInput.nullable().default(null) });

type Dependencies = {
  readonly store: DispatchVerbs & DeliveryVerbs & WebhookVerbs & Pick<Store, 'confirm' | 'customerId'>;
  readonly clock: Clock;
  readonly webhooks: { get(id: string): Promise<Webhook> };
};

export function createReadEvent({ store, clock, webhooks }: Dependencies): ReadEvent {
  const find = async (eventId: string, webhook: Webhook | null): Promise<LogRecord> => {
    const within = webhook === null ? {} : { webhookNumbers: [webhook.progress.webhookNumber] };
    const readSinceMs = performance.now();
    const { items } = await store.deliveries.list({ eventId, ...within }, null, 1);
    const [found] = items;
    const records = found && (await store.dispatch.records(found.webhookNumber, found.offset, found.offset));
    const record = records?.[0];
    if (record === undefined) throw new Refusal('not_found', `there is no event ${eventId.slice(0, 64)}`);
    await store.confirm(readSinceMs);
    return record;
  };

  return async (eventId, webhookId) => {
    const webhook = webhookId === null ? null : await webhooks.get(webhookId);
    if (!isUuidV7(eventId)) throw new Refusal('not_found', `there is no event ${eventId.slice(0, 64)}`);
    return recordsReading.run(store.customerId, async () => {
      const record = await find(eventId, webhook);
      const { dataJson } = record;
      if (dataJson === null) throw new Refusal('not_found', `the data of the event ${eventId} was erased`);
      const key = webhook === null ? null : await currentKey(store, webhook, clock());
      if (key === null && someMustBeEncrypted([record])) {
        const how = 'name a webhook that gets it and has a key: ?webhookId=';
        throw new Refusal('invalid_state', `the event must be encrypted: ${how}`);
      }
      const encryption = key === null ? null : { keyName: key.name, publicKey: key.publicKey };
      const body = await encodeBody(
        { now: clock(), gzip: false, encryption, owner: store.customerId },
        eventJson(record, dataJson),
      );
      if (!body.ok) throw new Refusal('invalid_state', body.message);
      const { date: _date, ...headers } = body.headers;
      return { bytes: body.bytes, headers };
    });
  };
}

/** The data as it was published. */
function eventJson(record: LogRecord, dataJson: string): Uint8Array {
  const { messageId, eventType, createdAt, subject, correlationId, actorId } = record;
  const timestamp = new Date(createdAt).toISOString();
  const head = JSON.stringify({ id: messageId, type: eventType, timestamp, subject, correlationId, actorId });
  return joinText([`${head.slice(0, -1)},"data":`, dataJson, '}']);
}
