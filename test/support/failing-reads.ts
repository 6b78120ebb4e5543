/** Lets the SQLite database of this process fail in the middle of a request, without a broken file. */

import type { TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { cleanUp } from './cleanup.ts';

/** What the statements of this process do from now on: the read at `at` fails, counted from 0, and every write. */
type Failure = { readonly at: number; error(): Error };

export type FailingDatabase = {
  /** Runs `work` while the database fails. Tells whether the read at `at` came. */
  during<T>(failure: Failure, work: () => Promise<T>): Promise<{ readonly result: T; readonly hasFailed: boolean }>;
};

const METHODS = ['get', 'all', 'run'] as const;
type Method = (typeof METHODS)[number];
type Run = (this: BetterSqlite3.Statement, ...values: unknown[]) => unknown;

export function failingDatabase(t: TestContext): FailingDatabase {
  const probe = new BetterSqlite3(':memory:');
  const prototype = Object.getPrototypeOf(probe.prepare('SELECT 1')) as Record<Method, Run>;
  probe.close();
  let failure: Failure | null = null;
  let reads = 0;
  for (const method of METHODS) {
    const own = prototype[method];
    prototype[method] = function (this: BetterSqlite3.Statement, ...values: unknown[]) {
      if (failure !== null && !/^(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)/.test(this.source)) {
        if (!this.readonly) throw failure.error();
        reads += 1;
        if (reads === failure.at + 1) throw failure.error();
      }
      return own.apply(this, values);
    };
    cleanUp(t, () => {
      prototype[method] = own;
    });
  }
  return {
    during: async (next, work) => {
      reads = 0;
      failure = next;
      try {
        const result = await work();
        return { result, hasFailed: reads > next.at };
      } finally {
        failure = null;
      }
    },
  };
}
