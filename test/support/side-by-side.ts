/** Concurrent attempts behind a throttle: they must reveal no more than attempts one after the other. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { deferred } from './deferred.ts';

type Look = (...args: readonly unknown[]) => Promise<unknown>;

type Trying<Target, Reply> = {
  /** The object with the method that checks an attempt. */
  readonly target: Target;
  readonly method: keyof Target & string;
  /** The attempt, from the method's arguments. */
  readonly triedOf: (args: readonly unknown[]) => string;
  readonly send: (tried: string) => Promise<Reply>;
};

/**
 * Tries all of these at once: every try is past the first question of the throttle before any is looked at, and they are looked at in
 * this order.
 */
export async function tryAtOnce<Target extends object, Reply>(
  t: TestContext,
  tries: readonly string[],
  { target, method, triedOf, send }: Trying<Target, Reply>,
): Promise<Reply[]> {
  const everyone = deferred();
  const looked = tries.map(() => deferred());
  const methods = target as Record<string, Look>;
  const look = methods[method] ?? assert.fail(`there is no ${method}`);
  let arrived = 0;
  const { mock } = t.mock.method(methods, method, async (...args: readonly unknown[]) => {
    arrived += 1;
    if (arrived === tries.length) everyone.resolve();
    const at = tries.indexOf(triedOf(args));
    await everyone.promise;
    await looked[at - 1]?.promise;
    try {
      return await look(...args);
    } finally {
      // Once what came of it is used: this is another turn.
      setImmediate(() => looked[at]?.resolve());
    }
  });
  const replies = tries.map(send);
  // One that is answered without being looked at must not keep the others waiting.
  for (const reply of replies) void reply.then(() => everyone.resolve());
  const all = await Promise.all(replies);
  mock.restore();
  assert.equal(arrived, tries.length, 'a try was refused before it was looked at');
  return all;
}
