/** `GET /webhooks/{id}/records`, `GET /events/{id}` and `POST /webhooks/{id}/acknowledge` (contract §9, §10.4). */

import { z } from 'zod';
import type { Gate } from '../../access/gate.ts';
import type { ReadEvent } from '../../delivery/reads/read-event.ts';
import {
  RECORDS_DEFAULT,
  RECORDS_MAX,
  RECORDS_WAIT_MAX_SECONDS,
  type ReadRecordsOf,
  type RecordsBody,
} from '../../delivery/reads/records.ts';
import { refuseField } from '../../kernel/refusal.ts';
import { idInput } from '../../kernel/schemas.ts';
import { validate } from '../../kernel/validation.ts';
import { acknowledgedView, acknowledgeInput } from '../../webhooks/acknowledge.ts';
import { viewWebhook } from '../../webhooks/webhook-schema.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import { ETAG, IF_NONE_MATCH, NOT_MODIFIED, readBytes, requireMatch } from '../conditional.ts';
import { actionRoute, EDGE, guardedRoute, idInPath, okReply } from '../resource-routes.ts';
import { jsonBody, type Route } from '../route.ts';

type Dependencies = {
  readonly readRecords: ReadRecordsOf;
  readonly readEvent: ReadEvent;
  readonly webhooks: Pick<Webhooks, 'get' | 'acknowledge'>;
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
    acknowledgedOffset: offset
      .optional()
      .meta({ description: 'In mode `pull`: every record up to this one is acknowledged; -1 if none is.' }),
    records: z.array(z.looseObject({ offset: z.int() })).meta({
      description:
        'Each as a delivery carries it, with its `offset`. Events of the format `standard` also have their `id`.',
    }),
  })
  .meta({ id: 'Records', description: 'Records as the body of a delivery carries them.' });

const eventView = z
  .object({
    id: z.string(),
    type: z.string(),
    timestamp: z.string(),
    subject: z.string().nullable(),
    correlationId: z.string(),
    actorId: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event', description: 'An event with its data as it was published.' });

export function recordRoutes(dependencies: Dependencies): Route<'both'>[] {
  return [recordsRoute(dependencies), eventRoute(dependencies), acknowledgeRoute(dependencies)];
}

function recordsRoute({ readRecords, gate, stopping }: Dependencies): Route<'both'> {
  return guardedRoute('GET', 'webhooks/{id}/records', {
    for: 'both',
    tag: 'webhooks',
    operationId: 'readWebhookRecords',
    summary: 'Read the records of a webhook',
    description:
      'In order, delivered or not. ' +
      'In mode `pull`, without `after`, they begin behind the last acknowledged one. A reply has at most 1 MiB ' +
      'of data. Erased records are left out. If the webhook has a key, the body is encrypted with it, as a ' +
      'delivery is.',
    query: {
      after: {
        schema: offset,
        description:
          'The offset of the last record that you have. Default: -1; in mode `pull`, the last acknowledged one.',
      },
      limit: {
        schema: z.int().min(1).max(RECORDS_MAX).default(RECORDS_DEFAULT),
        description: 'How many records at most.',
      },
      wait: {
        schema: z.int().min(0).max(RECORDS_WAIT_MAX_SECONDS).default(0),
        description: 'How many seconds to wait for the next record if there is none.',
      },
    },
    replies: {
      200: { description: 'The records', schema: recordsView, mayBeEncrypted: true },
      409: {
        description:
          'They must be encrypted, and there is no key or it has expired; or the webhook is in mode `pull` and stopped',
      },
      429: { description: 'Too many of your reads are in progress or wait; see `Retry-After`' },
      503: { description: 'Too many reads wait; see `Retry-After`' },
    },
    respond: async (call) => {
      const after = readInteger(call.query, 'after', -1, Number.MAX_SAFE_INTEGER, null);
      const limit = readInteger(call.query, 'limit', 1, RECORDS_MAX, RECORDS_DEFAULT);
      const waitMs = readInteger(call.query, 'wait', 0, RECORDS_WAIT_MAX_SECONDS, 0) * 1000;
      const signal = AbortSignal.any([call.signal, stopping]);
      const { request, method } = call;
      // A token that was revoked during the wait reads nothing.
      const maySee = async (): Promise<void> => {
        const caller = await gate.authenticate(request.headersDistinct.authorization ?? []);
        gate.authorize(caller, method, `${EDGE}/webhooks/${idInPath(call)}/records`.slice(1).split('/'));
      };
      const { bytes, headers } = await readRecords(idInPath(call), { after, limit, waitMs, signal }, maySee);
      return { status: 200, headers: headersOf(headers), body: bytes };
    },
  });
}

function eventRoute({ readEvent }: Dependencies): Route<'both'> {
  return guardedRoute('GET', 'events/{id}', {
    for: 'both',
    tag: 'events',
    operationId: 'readEvent',
    headers: IF_NONE_MATCH,
    summary: 'Read an event',
    description:
      'An event that one of your webhooks gets. ' +
      'For receivers of thin bodies, whose `url` leads here. If the webhook has a key, the body is encrypted with it, as a ' +
      'delivery is.',
    query: {
      webhookId: { schema: idInput, description: 'A webhook that gets the event. Its key encrypts the body.' },
    },
    replies: {
      200: { description: 'The event', schema: eventView, mayBeEncrypted: true, headers: ETAG },
      ...NOT_MODIFIED,
      404: { description: 'No webhook of yours gets such an event, or its data was erased' },
      409: { description: 'It must be encrypted, and there is no key or it has expired' },
      429: { description: 'Too many of your reads are in progress or wait; see `Retry-After`' },
      503: { description: 'Too many reads wait; see `Retry-After`' },
    },
    respond: async (call) => {
      const { bytes, headers } = await readEvent(idInPath(call), call.query.get('webhookId'));
      return readBytes(call, bytes, headersOf(headers));
    },
  });
}

function acknowledgeRoute({ webhooks }: Dependencies): Route<'both'> {
  return actionRoute('webhooks', 'acknowledge', 'Acknowledge records of a webhook', {
    for: 'both',
    operationId: 'acknowledgeWebhookRecords',
    description:
      'Of a webhook in mode `pull`. ' +
      'The records up to `throughOffset` are delivered, and reads without `after` begin behind them. Repeating it changes nothing.',
    body: jsonBody(acknowledgeInput),
    replies: {
      200: { description: 'How far the records are acknowledged', schema: acknowledgedView },
      409: { description: 'It goes backwards, or the webhook is stopped or in mode `push`' },
    },
    respond: async (call, id) => {
      requireMatch(call, viewWebhook(await webhooks.get(id)), 'webhook');
      return okReply(await webhooks.acknowledge(id, validate(acknowledgeInput, call.body)));
    },
  });
}

function headersOf({ 'content-type': type = '', ...others }: RecordsBody['headers']): Readonly<Record<string, string>> {
  return { ...others, 'Content-Type': type, 'Cache-Control': 'no-store' };
}

function readInteger<Otherwise extends number | null>(
  query: URLSearchParams,
  name: string,
  min: number,
  max: number,
  otherwise: Otherwise,
): number | Otherwise {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw refuseField(name, `must be an integer from ${min} to ${max}`);
  return value;
}
