/**
 * Loaded before the tests in every test process, which it makes fail in two cases that the runner passes over. The runner's time limit ends
 * a test but not its process, which would wait forever for a server, timer or child process that a test left open. And a file that throws
 * while it loads passes if it has registered a test before (Node 24.21): its other tests would be missing.
 */

import { after } from 'node:test';
import { pathToFileURL } from 'node:url';

const files = process.argv.slice(2);
/** Twenty files take a minute on a quiet machine, and so does the kill test, which starts a service 30 times. */
const FILES_TIMEOUT_MS = 1_200_000;
/** The time from the last test to the end of the process. Keep-alive connections and pools close sooner without help. */
const CLOSING_MS = 15_000;

failAfter(FILES_TIMEOUT_MS, 'The tests run too long');
after(() => failAfter(CLOSING_MS, 'All tests are done but something is still open'));
after(failUnloaded);

/** Imports each file again, which only repeats its error if it had one. */
async function failUnloaded(): Promise<void> {
  for (const file of files) {
    try {
      await import(pathToFileURL(file).href);
    } catch (error) {
      process.stderr.write(`${file} did not load to its end: ${(error as Error).stack ?? error}\n`);
      process.once('exit', () => {
        process.exitCode = 1;
      });
    }
  }
}

/** The timer does not keep the process alive. */
function failAfter(limitMs: number, reason: string): void {
  setTimeout(() => {
    process.stderr.write(`${reason} (${process.getActiveResourcesInfo().join(', ')}):\n${files.join('\n')}\n`);
    process.exit(1);
  }, limitMs).unref();
}
