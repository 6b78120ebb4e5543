/** Events of a database's threads, for tests in which none of them is expected. */
import type { ThreadEvents } from '../../src/store/sqlite/driver/thread-writer.ts';

const fail = (error: Error): never => {
  throw error;
};

export const FAILING_TEST: ThreadEvents = { onEnd: fail, onCheckpointFailure: fail };
