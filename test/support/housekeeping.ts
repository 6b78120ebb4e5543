/** Runs housekeeping on a test's store, without pauses between steps, and collects its log. */
import {
  createHousekeeping,
  type Housekeeping,
  type HousekeepingOptions,
} from '../../src/housekeeping/housekeeping.ts';
import type { Retention } from '../../src/housekeeping/retention.ts';
import { createLog } from '../../src/observe/log.ts';
import type { TestStore } from './store.ts';

export const DAY_MS = 86_400_000;
const DEFAULTS: Retention = { deliveredDays: 30, deadDays: 90, attemptsDays: 30 };

export type Kept = Housekeeping & {
  readonly logged: readonly Record<string, unknown>[];
  /** The number of times the dispatcher was woken. */
  wakes(): number;
};

export function housekeepingFor(
  s: TestStore,
  retention: Partial<Retention> = {},
  more: Partial<HousekeepingOptions> = {},
): Kept {
  const logged: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line: string) => void logged.push(JSON.parse(line)) });
  let wakes = 0;
  const housekeeping = createHousekeeping({
    store: s.store,
    ids: s.ids,
    clock: s.clock,
    checkClock: async () => undefined,
    log,
    retention: { ...DEFAULTS, ...retention },
    wake: () => {
      wakes += 1;
    },
    pause: async () => {},
    ...more,
  });
  return { ...housekeeping, logged, wakes: () => wakes };
}

/** The number of rows in a table. */
export async function count(s: Pick<TestStore, 'rows'>, table: string, where = 'TRUE'): Promise<number> {
  return Number((await s.rows(`SELECT count(*) AS n FROM ${table} WHERE ${where}`))[0]?.n);
}
