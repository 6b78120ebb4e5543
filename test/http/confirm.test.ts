/** Which replies wait until what they rest on is durable. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { confirming } from '../../src/http/confirm.ts';
import type { Call, Reply, Route } from '../../src/http/route.ts';
import { Refusal } from '../../src/kernel/refusal.ts';

const refusing = (code: 'not_found' | 'conflict' | 'precondition_failed' | 'validation_failed') => async () => {
  throw new Refusal(code, 'refused');
};
const replying = (status: number) => async (): Promise<Reply> => ({ status });
const CASES: readonly (readonly [what: string, waits: boolean, route: Partial<Route>])[] = [
  ['a read', false, { method: 'GET', respond: replying(200) }],
  ['a patch, which may have changed nothing', true, { method: 'PATCH', respond: replying(200) }],
  ['an action', true, { method: 'POST', respond: replying(200) }],
  ['a form of the portal', true, { method: 'POST', respond: replying(303) }],
  ['a deletion', true, { method: 'DELETE', respond: replying(204) }],
  ['a creation, which has its own write', false, { method: 'POST', respond: replying(201) }],
  ['events, which have their own write', false, { method: 'POST', respond: replying(202) }],
  ['a reply that promises nothing', false, { method: 'POST', promisesNothing: true, respond: replying(200) }],
  ['a deletion of what is gone', true, { method: 'DELETE', respond: refusing('not_found') }],
  ['a creation of what exists', true, { method: 'POST', respond: refusing('conflict') }],
  ['a change of what was changed', true, { method: 'PATCH', respond: refusing('precondition_failed') }],
  ['bad input', false, { method: 'POST', respond: refusing('validation_failed') }],
];

describe('a reply', () => {
  for (const [what, waits, route] of CASES) {
    it(`${waits ? 'waits' : 'does not wait'} until its data is durable: ${what}`, async () => {
      let asked = 0;
      const count = (): void => {
        asked += 1;
      };
      await confirming(count)(route as Route, {} as Call).catch(() => undefined);
      assert.equal(asked, waits ? 1 : 0);
      const unconfirmed = new Refusal('unavailable', 'not confirmed');
      const refused = confirming(() => Promise.reject(unconfirmed))(route as Route, {} as Call);
      const outcome = await refused.catch((error: unknown) => error);
      assert.equal(outcome === unconfirmed, waits);
    });
  }
});
