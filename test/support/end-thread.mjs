/** Preloaded into a service. On SIGUSR2 it terminates the first thread, which writes the database. */
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const threads = [];
  process.on('worker', (thread) => threads.push(thread));
  process.on('SIGUSR2', () => threads[0].terminate());
}
