/**
 * Loaded into every test file's process. The runner's time limit ends a test, not the process of a file, which waits
 * forever for a server, timer or child that a test left open; here that is a failure that names what is open.
 */

import { after } from 'node:test';

/** The kill test starts a service 200 times. */
const FILE_TIMEOUT_MS = process.argv[1]?.endsWith('.slow.test.ts') ? 1_200_000 : 600_000;
/** From the last test to the end of the process; what closes by itself (keep-alive, pools) takes less. */
const CLOSING_MS = 15_000;

// The runner's own process loads this too and has no tests.
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  failAfter(FILE_TIMEOUT_MS, 'This file runs too long');
  after(() => failAfter(CLOSING_MS, 'All tests are done but something is still open'));
}

/** Not referenced: a process that has nothing left to do ends before. */
function failAfter(limitMs: number, reason: string): void {
  setTimeout(() => {
    process.stderr.write(`${process.argv[1]}: ${reason} (${process.getActiveResourcesInfo().join(', ')})\n`);
    process.exit(1);
  }, limitMs).unref();
}
