/** Remembers to which logs this process has appended records, so that the dispatcher need not ask for the ends of all logs. */
import type { Database, Statement } from '../port/database.ts';

export type Appended = {
  /** Webhooks whose logs have grown since the last call. */
  take(): readonly number[];
};

/** A database that does this with what its statements return, if they say so (`appends`). */
export function watchAppends<Kind extends Database>(db: Kind): { readonly db: Kind; readonly appended: Appended } {
  let numbers = new Set<number>();
  const note = (
    statements: readonly Statement[],
    at: number,
    rows: readonly { readonly webhook_number?: unknown }[],
  ): void => {
    if (statements[at]?.appends !== true) return;
    // A row without a number has another subject.
    for (const { webhook_number: number } of rows) if (number !== null) numbers.add(Number(number));
  };
  const commit: Database['commit'] = async (statements, ...rest) => {
    const results = await db.commit(statements, ...rest);
    for (const [at, { rows }] of results.entries()) note(statements, at, rows);
    return results;
  };
  return {
    db: { ...db, commit },
    appended: {
      take: () => {
        const taken = [...numbers];
        numbers = new Set();
        return taken;
      },
    },
  };
}
