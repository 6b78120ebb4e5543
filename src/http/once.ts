/** The header `Idempotency-Key` (contract §4.3). `services/once.ts` has what it does. */

import { z } from 'zod';
import { refuseField } from '../kernel/refusal.ts';
import { refuseDeep } from '../kernel/validation.ts';
import { createRunOnce, IDEMPOTENCY_KEY_PATTERN } from '../services/once.ts';
import type { Beside } from '../store/port/resource.ts';
import { allHeaders } from './request.ts';
import { type Call, type Reply, type Route, requireCaller } from './route.ts';

/** Runs `work` and returns `reply` of its result, or the first reply for a used key. */
export type Once = <Made>(
  call: Call,
  reply: (made: Made) => Reply,
  work: (beside: Beside<Made>) => Promise<Made>,
) => Promise<Reply>;

const HEADER = 'Idempotency-Key';

/** For `Route.headers`. */
export const IDEMPOTENCY_KEY: NonNullable<Route['headers']> = {
  [HEADER]: {
    description:
      'Makes the request safe to repeat: for 24 hours, the same request of this application under the same key ' +
      'changes nothing and gets the first reply again. Another request under the same key is refused with ' +
      '`idempotency_conflict`.',
    schema: z.string().regex(IDEMPOTENCY_KEY_PATTERN),
  },
};

export function createOnce(dependencies: Parameters<typeof createRunOnce>[0]): Once {
  const runOnce = createRunOnce(dependencies);
  return async (call, reply, work) => {
    const key = readKey(call);
    if (key === null) return reply(await work(() => []));
    refuseDeep(call.body);
    const owner = { applicationId: requireCaller(call).applicationId, key };
    return runOnce(
      { owner, field: HEADER, request: [call.method, call.request.url, call.body] },
      (made) => {
        const { status, headers = {}, body } = reply(made);
        return { status, headers, body: JSON.stringify(body) };
      },
      work,
    );
  };
}

function readKey({ request }: Call): string | null {
  const [key = null, ...more] = allHeaders(request, HEADER.toLowerCase());
  if (more.length > 0) throw refuseField(HEADER, 'was sent more than once');
  return key;
}
