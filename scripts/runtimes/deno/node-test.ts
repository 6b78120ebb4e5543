/**
 * Replaces `node:test` for tests on Deno. Deno's version never calls the `t.after` functions of an `it` within a `describe`, so the servers
 * of a test would keep running. The tests listed in `exceptions.ts` must fail.
 */
import * as node from 'node:test';
import { EXCEPTIONS } from './exceptions.ts';

export const { after, afterEach, before, beforeEach, describe, mock } = node;
export type { TestContext } from 'node:test';

type Body = (t: node.TestContext) => unknown;
type Declare = (name: string, ...more: readonly unknown[]) => unknown;
type Work = () => unknown;

export const it: typeof node.it = declaring(node.it as Declare) as typeof node.it;
export const test: typeof node.test = declaring(node.test as Declare) as typeof node.test;
// biome-ignore lint/style/noDefaultExport: as node:test has it
export default test;

function declaring(declare: Declare): Declare {
  return (name, ...more) => {
    const isException = EXCEPTIONS.some((exception) => exception.test === name);
    const adapted = (body: Body): Body => (isException ? failing(name, cleaning(body)) : cleaning(body));
    return declare(
      name,
      ...more.map((argument) => (typeof argument === 'function' ? adapted(argument as Body) : argument)),
    );
  };
}

/** Calls the `t.after` functions in order once the body has ended, even if it failed. */
function cleaning(body: Body): Body {
  return async (t) => {
    const works: Work[] = [];
    const own: Readonly<Record<string | symbol, unknown>> = {
      after: (work: Work) => void works.push(work),
      test: declaring(t.test.bind(t) as Declare),
    };
    const context = new Proxy(t, {
      get: (target, name) => {
        const value: unknown = own[name] ?? Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    try {
      await body(context);
    } finally {
      for (const work of works) await work();
    }
  };
}

function failing(name: string, body: Body): Body {
  return async (t) => {
    try {
      await body(t);
    } catch {
      return;
    }
    throw new Error(`this test passes on Deno, but scripts/runtimes/deno/exceptions.ts lists it: ${name}`);
  };
}
