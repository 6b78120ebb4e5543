/** Housekeeping on a test's store without pauses between its steps, and its log. */
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
  /** How often the dispatcher was told that there may be work. */
  wakes(): number;
};

export function keepHouse(
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

/** How many rows a table has. */
export function count(s: Pick<TestStore, 'rows'>, table: string, where = 'TRUE'): number {
  return Number(s.rows(`SELECT count(*) AS n FROM ${table} WHERE ${where}`)[0]?.n);
}
