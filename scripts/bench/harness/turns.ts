/**
 * Loaded into the service with `--import`: notes how long its turns of the event loop keep the processor, which other processes do not
 * disturb. On SIGUSR2 it writes the longest since the last time, in milliseconds, to the file that `TURNS_FILE` names.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env.TURNS_FILE;
if (isMainThread && file !== undefined) {
  let longestMs = 0;
  let before = process.threadCpuUsage();
  const turn = (): void => {
    const now = process.threadCpuUsage();
    longestMs = Math.max(longestMs, (now.user + now.system - before.user - before.system) / 1000);
    before = now;
    setImmediate(turn).unref();
  };
  setImmediate(turn).unref();
  process.on('SIGUSR2', () => {
    writeFileSync(`${file}.new`, String(longestMs));
    renameSync(`${file}.new`, file);
    longestMs = 0;
  });
}
