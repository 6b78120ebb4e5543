/** The clock of the database, so that all instances agree. */

import type { Clock } from '../../kernel/ids.ts';
import type { Database } from '../port/database.ts';

/** How often the difference to the database's clock is measured. */
const POSTGRES_CLOCK_EVERY_MS = 5000;

type DatabaseClock = {
  readonly clock: Clock;
  /** Ends the regular measurements. */
  stop(): void;
};

const NOW = 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now';

/**
 * Measures the database's clock now and every `POSTGRES_CLOCK_EVERY_MS`. Between two measurements the time runs by this process's
 * stopwatch, which setting the system's clock does not change. The error is at most half of a round trip.
 */
export async function openDatabaseClock(db: Pick<Database, 'get'>): Promise<DatabaseClock> {
  let ahead = 0;
  const measure = async (): Promise<void> => {
    const sentAt = performance.now();
    const row = await db.get(NOW, {});
    ahead = Number(row?.now) - (sentAt + performance.now()) / 2;
  };
  await measure();
  // While the database cannot be reached, the last measurement stays good.
  const timer = setInterval(() => void measure().catch(() => {}), POSTGRES_CLOCK_EVERY_MS).unref();
  return { clock: () => Math.floor(performance.now() + ahead), stop: () => clearInterval(timer) };
}
