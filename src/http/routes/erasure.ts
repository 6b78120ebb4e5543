/** `POST /events/erase` (wire.md §4). */
import { actingOf } from '../../access/callers.ts';
import { type Erase, erasedView, eraseInput } from '../../events/erase.ts';
import { EDGE, ok } from '../resource-routes.ts';
import { callerOf, jsonBody, type Route } from '../route.ts';

export function erasureRoutes({ erase }: { readonly erase: Erase }): Route[] {
  return [
    {
      method: 'POST',
      path: `${EDGE}/events/erase`,
      access: 'guarded',
      tag: 'events',
      operationId: 'eraseEvents',
      summary: "Overwrite the data of one person's events",
      description:
        'Their data is overwritten wherever it is kept, pending deliveries are discarded, and stored answers of attempts that carried it are overwritten. ' +
        'A request that is on its way to a receiver may still arrive. Asked for again, it finds nothing more to do.',
      body: jsonBody(eraseInput),
      replies: {
        200: { description: 'What was erased', schema: erasedView },
        503: { description: 'It was erased, but a copy may remain beside the tables: ask again' },
      },
      respond: async (call) => ok(await erase(call.body, actingOf(callerOf(call)))),
    },
  ];
}
