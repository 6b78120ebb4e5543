/** `GET /webhooks/{id}/records` (contract §8 "Records"). */
import { z } from 'zod';
import type { Gate } from '../../access/gate.ts';
import type { ReadRecordsOf } from '../../delivery/records.ts';
import { RECORDS_MAX, RECORDS_WAIT_MAX_SECONDS } from '../../kernel/limits/delivery.ts';
import { refuseField } from '../../kernel/refusal.ts';
import { EDGE, idOf } from '../resource-routes.ts';
import type { Route } from '../route.ts';

type Dependencies = {
  readonly readRecords: ReadRecordsOf;
  readonly gate: Gate;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
};

const offset = z.int().min(-1);

const recordsView = z
  .object({
    subscriptionId: z.string(),
    sessionId: z.string(),
    attemptNumber: z.literal(1),
    throughOffset: offset.meta({
      description: 'Every record up to this one is here or was read before: the next `after`.',
    }),
    newestOffset: offset.meta({ description: 'The newest record of the webhook; -1 if there is none.' }),
    records: z.array(
      z.looseObject({ offset: z.int(), timestamp: z.string(), lag: z.number(), correlationId: z.string() }),
    ),
  })
  .meta({ id: 'Records', description: 'Records as the body of a delivery carries them.' });

export function recordRoutes({ readRecords, gate, stopping }: Dependencies): Route[] {
  return [
    {
      method: 'GET',
      path: `${EDGE}/webhooks/{id}/records`,
      access: 'guarded',
      tag: 'webhooks',
      operationId: 'readWebhookRecords',
      summary: 'Read records in order, delivered or not',
      description:
        'A reply has at most 1 MiB of data. Erased records are left out. If the webhook has a key, the body is encrypted with it, as a delivery is.',
      query: {
        after: { schema: offset.default(-1), description: 'The offset of the last record that you have.' },
        limit: { schema: z.int().min(1).max(RECORDS_MAX).default(100), description: 'How many records at most.' },
        wait: {
          schema: z.int().min(0).max(RECORDS_WAIT_MAX_SECONDS).default(0),
          description: 'How many seconds to wait for the next record if there is none.',
        },
      },
      replies: {
        200: { description: 'The records', schema: recordsView },
        409: { description: 'They must be encrypted, and there is no key or it has expired' },
        503: { description: 'Too many readers wait; see `Retry-After`' },
      },
      respond: async (call) => {
        const after = readInteger(call.query, 'after', -1, Number.MAX_SAFE_INTEGER, -1);
        const limit = readInteger(call.query, 'limit', 1, RECORDS_MAX, 100);
        const waitMs = readInteger(call.query, 'wait', 0, RECORDS_WAIT_MAX_SECONDS, 0) * 1000;
        const signal = AbortSignal.any([call.signal, stopping]);
        const { request, method } = call;
        // A token that was revoked during the wait reads nothing.
        const maySee = async (): Promise<void> => {
          const caller = await gate.authenticate(request.headersDistinct.authorization ?? []);
          gate.authorize(caller, method, `${EDGE}/webhooks/${idOf(call)}/records`.slice(1).split('/'));
        };
        const { bytes, headers } = await readRecords(idOf(call), { after, limit, waitMs, signal }, maySee);
        const { 'content-type': type = '', ...others } = headers;
        return { status: 200, headers: { ...others, 'Content-Type': type, 'Cache-Control': 'no-store' }, body: bytes };
      },
    },
  ];
}

function readInteger(query: URLSearchParams, name: string, min: number, max: number, otherwise: number): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw refuseField(name, `must be an integer from ${min} to ${max}`);
  return value;
}
