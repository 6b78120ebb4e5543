/** Handlers for the events of a database's threads, for tests that expect none. */
import type { ThreadEvents } from '../../src/store/sqlite/driver/thread-writer.ts';

const fail = (error: Error): never => {
  throw error;
};

export const FAILING_TEST: ThreadEvents = { onEnd: fail, onCheckpointFailure: fail };
