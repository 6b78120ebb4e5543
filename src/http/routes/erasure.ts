/** Erasure of the events about one person (contract §4.15). */
import { actingOf } from '../../access/callers.ts';
import { type Erasures, erasedView, eraseInput } from '../../events/erase.ts';
import { validate } from '../../kernel/validation.ts';
import { ETAG, IF_NONE_MATCH, NOT_MODIFIED, read } from '../conditional.ts';
import { EDGE, guardedRoute, idInPath, okReply } from '../resource-routes.ts';
import { jsonBody, type Route, requireCaller } from '../route.ts';

export function erasureRoutes({ erasures }: { readonly erasures: Erasures }): Route<'operator'>[] {
  return [
    guardedRoute('POST', 'events/erase', {
      for: 'operator',
      tag: 'events',
      operationId: 'eraseEvents',
      summary: "Overwrite the data of one person's events",
      description:
        'From the reply on, pending deliveries of them are not sent any more. Their data is overwritten wherever ' +
        'it is kept, and so are stored answers of attempts that carried it: ' +
        'within two seconds, or step by step afterwards, also after a restart.',
      body: jsonBody(eraseInput),
      replies: {
        200: { description: 'The erasure is finished; its counts', schema: erasedView },
        202: {
          description: 'The erasure continues; its counts so far',
          schema: erasedView,
          headers: { Location: 'The address of the status' },
        },
      },
      respond: async (call) => {
        const body = await erasures.erase(validate(eraseInput, call.body), actingOf(requireCaller(call)));
        return body.state === 'finished'
          ? okReply(body)
          : { status: 202, headers: { Location: `${EDGE}/erasures/${body.id}` }, body };
      },
    }),
    guardedRoute('GET', 'erasures/{id}', {
      for: 'operator',
      tag: 'events',
      operationId: 'getErasure',
      summary: 'Read the status of an erasure',
      description: 'The status of a finished erasure is kept for 90 days.',
      headers: IF_NONE_MATCH,
      replies: {
        200: { description: 'The erasure', schema: erasedView, headers: ETAG },
        ...NOT_MODIFIED,
        404: { description: 'There is no such erasure, or it was finished long ago' },
      },
      respond: async (call) => read(call, await erasures.get(idInPath(call))),
    }),
  ];
}
