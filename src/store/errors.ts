/** What a verb of the store throws besides faults, and how a stale write is repeated. */
/** A list was undone because a constraint of the schema refused it. `columns` are `table.column` names, where the database says. */
export class ConstraintViolation extends Error {
  readonly kind: 'unique' | 'foreign_key' | 'check';
  readonly columns: readonly string[];
  constructor(kind: 'unique' | 'foreign_key' | 'check', columns: readonly string[], options: ErrorOptions = {}) {
    super(`${kind} constraint: ${columns.join(', ')}`, options);
    this.name = 'ConstraintViolation';
    this.kind = kind;
    this.columns = columns;
  }
}

/** A list was undone because a row was no longer as the caller had read it. Read again and decide again. */
export class StaleWrite extends Error {
  readonly sql: string;
  readonly expected: number;
  readonly changed: number;
  constructor(sql: string, expected: number, changed: number) {
    super(`expected ${expected} changed rows, got ${changed}: ${sql.trim().split('\n', 1)[0]}`);
    this.name = 'StaleWrite';
    this.sql = sql;
    this.expected = expected;
    this.changed = changed;
  }
}

const STALE_ROUNDS = 100;

/**
 * Decides and writes again while what was read turns out to be stale: a row changed, or what it refers to or is referred to
 * by came or went, or another process took the row key. One of those who change the same row at the same time wins each round, so as
 * many as there are rounds can do so at once; gives up after the last with its error.
 */
export async function retryStale<T>(decide: () => Promise<T>): Promise<T> {
  for (let round = 1; ; round += 1) {
    try {
      return await decide();
    } catch (error) {
      if (!isStale(error) || round === STALE_ROUNDS) throw error;
    }
  }
}

function isStale(error: unknown): boolean {
  if (error instanceof StaleWrite) return true;
  if (!(error instanceof ConstraintViolation)) return false;
  return error.kind === 'foreign_key' || error.columns.some((column) => ROW_KEYS.includes(column));
}

/**
 * Columns of row keys: two processes may draw the same one in the same millisecond, and the next round draws another. Tokens are issued
 * by the one server alone, and a claim that stops its webhook is made anew at a later look. A test delivery of a command that draws the
 * key of an attempt of the server's is sent, and fails to be recorded.
 */
const ROW_KEYS: readonly string[] = ['event.key', 'access_token.key', 'attempt.key'];

/** The idempotency keys of the events at these places already stand for events with other content. */
export class KeyConflict extends Error {
  readonly at: readonly number[];
  constructor(at: readonly number[]) {
    super('an idempotency key stands for an event with other content');
    this.name = 'KeyConflict';
    this.at = at;
  }
}
