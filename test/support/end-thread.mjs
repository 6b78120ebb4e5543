/** Preloaded into a service: ends its first thread, which writes the database, at SIGUSR2. */
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const threads = [];
  process.on('worker', (thread) => threads.push(thread));
  process.on('SIGUSR2', () => threads[0].terminate());
}
