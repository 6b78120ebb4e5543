/** Sends concurrent attempts to a throttle. They must reveal no more than sequential attempts. */
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
 * Sends all attempts at once. Every attempt has passed the throttle's first check before the first one is verified. They are verified in
 * the given order.
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
  const arrived: string[] = [];
  const { mock } = t.mock.method(methods, method, async (...args: readonly unknown[]) => {
    const tried = triedOf(args);
    arrived.push(tried);
    if (arrived.length === tries.length) everyone.resolve();
    const at = tries.indexOf(tried);
    await everyone.promise;
    await looked[at - 1]?.promise;
    try {
      return await look(...args);
    } finally {
      // In the next turn, when the result of this attempt has been used.
      setImmediate(() => looked[at]?.resolve());
    }
  });
  const replies = tries.map(send);
  // An attempt that is refused without being verified must not block the others.
  for (const reply of replies) void reply.then(() => everyone.resolve());
  const all = await Promise.all(replies);
  mock.restore();
  assert.deepEqual(arrived.toSorted(), tries.toSorted(), 'every attempt is verified, and once');
  return all;
}
