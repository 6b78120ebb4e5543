/** `GET /webhooks/{id}/waiting-keys` and `POST /webhooks/{id}/give-up` (contract §5.9). */
import { z } from 'zod';
import { CURSOR_MAX_LENGTH } from '../../domain/limits.ts';
import { validate } from '../../kernel/validation.ts';
import { givenUpView, giveUpInput, waitingKeysView } from '../../webhooks/waiting-keys.ts';
import { viewWebhook } from '../../webhooks/webhook-schema.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import { requireMatch } from '../conditional.ts';
import { PAGE_QUERY, readLimit } from '../paging.ts';
import { actionRoute, guardedRoute, idInPath, okReply } from '../resource-routes.ts';
import { jsonBody, type Route } from '../route.ts';

export function keyOrderRoutes(webhooks: Pick<Webhooks, 'get' | 'keyOrder'>): Route<'both'>[] {
  return [
    guardedRoute('GET', 'webhooks/{id}/waiting-keys', {
      for: 'both',
      tag: 'webhooks',
      operationId: 'listWaitingKeys',
      summary: 'List the ordering keys that wait',
      description:
        'With `ordered: "key"`: keys whose first record failed or is late, so that the others of the key wait.',
      query: {
        ...PAGE_QUERY,
        cursor: { schema: z.string().max(CURSOR_MAX_LENGTH), description: '`nextCursor` of the page before.' },
      },
      replies: {
        200: { description: 'A page of keys, in ascending order', schema: waitingKeysView },
        409: { description: 'The webhook does not keep the order by key' },
      },
      respond: async (call) => {
        const asked = { limit: readLimit(call.query), cursor: call.query.get('cursor') };
        return okReply(await webhooks.keyOrder.waitingKeys(idInPath(call), asked));
      },
    }),
    actionRoute('webhooks', 'give-up', 'Give up the records of an ordering key', {
      for: 'both',
      operationId: 'giveUpKey',
      description:
        'With `ordered: "key"`: the waiting records of the key are dead, except one that is being sent, and later records of the key ' +
        'go on. They can be sent again.',
      body: jsonBody(giveUpInput),
      replies: {
        200: { description: 'How many records are dead now', schema: givenUpView },
        409: { description: 'The webhook does not keep the order by key' },
      },
      respond: async (call, id, acting) => {
        requireMatch(call, viewWebhook(await webhooks.get(id)), 'webhook');
        return okReply(await webhooks.keyOrder.giveUp(id, validate(giveUpInput, call.body), acting));
      },
    }),
  ];
}
