/**
 * Loaded before the tests in every test process. The runner's time limit ends a test but not its process, which would wait forever for a
 * server, timer or child process that a test left open. This file makes the process fail and name the open resources.
 */

import { after } from 'node:test';

const files = process.argv.slice(2);
/** Twenty files take a minute on a quiet machine, and the kill test, which starts a service 200 times, a few. */
const FILES_TIMEOUT_MS = 1_200_000;
/** The time from the last test to the end of the process. Keep-alive connections and pools close sooner without help. */
const CLOSING_MS = 15_000;

failAfter(FILES_TIMEOUT_MS, 'The tests run too long');
after(() => failAfter(CLOSING_MS, 'All tests are done but something is still open'));

/** The timer does not keep the process alive. */
function failAfter(limitMs: number, reason: string): void {
  setTimeout(() => {
    process.stderr.write(`${reason} (${process.getActiveResourcesInfo().join(', ')}):\n${files.join('\n')}\n`);
    process.exit(1);
  }, limitMs).unref();
}
