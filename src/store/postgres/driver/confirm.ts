/** Waits until everything that was read is durable, for answers that promise it (contract §6.5). */
import type { Database, StatementResult } from '../../port/database.ts';
import { DatabaseUnavailable } from '../../port/errors.ts';
import { batched } from '../batched.ts';
import { WAIT_FOR_STANDBY } from './outcome.ts';
import type { PostgresStatement } from './transaction.ts';

/** The servers that answer reads, by when they started. */
export type Servers = {
  answered(serverStart: string): void;
  /** Whether no other server has answered since a time by `performance.now()`. */
  isOnly(serverStart: string, sinceMs: number): boolean;
};

export function createServers(): Servers {
  let current: string | null = null;
  let changedAt = Number.NEGATIVE_INFINITY;
  const answered = (serverStart: string): void => {
    if (serverStart === current) return;
    if (current !== null) changedAt = performance.now();
    current = serverStart;
  };
  return {
    answered,
    isOnly: (serverStart, sinceMs) => {
      answered(serverStart);
      return changedAt < sinceMs;
    },
  };
}

/** One statement for all callers of a turn. A promoted standby confirms nothing that was read from the server before it. */
export function createConfirm(
  commit: (statements: readonly PostgresStatement[]) => Promise<readonly StatementResult[]>,
  servers: Servers,
): Database['confirm'] {
  const confirm = batched<number, boolean>(
    async (calls) => {
      const [result] = await commit([{ sql: WAIT_FOR_STANDBY, params: {}, again: WAIT_FOR_STANDBY }]);
      const started = String(result?.rows[0]?.started);
      return calls.map((readSinceMs) => servers.isOnly(started, readSinceMs));
    },
    { inProgressMax: 1, callsMax: Number.POSITIVE_INFINITY },
  );
  return async (readSinceMs) => {
    if (!(await confirm(readSinceMs))) throw new DatabaseUnavailable('unknown');
  };
}
