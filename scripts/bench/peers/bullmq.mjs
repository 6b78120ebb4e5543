/** BullMQ: a job a record, 64 at a time. Its worker has one job at a time; batches are a matter of its commercial edition. */
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { countdown, serve } from './commands.mjs';
import { createPoster, makeRecords } from './post.mjs';

const { origin, ca, redisSocket } = JSON.parse(process.argv[2]);
const post = createPoster({ origin, ca });
const connect = () => new Redis({ path: redisSocket, maxRetriesPerRequest: null });
const queue = new Queue('bench', { connection: connect() });
const counted = countdown();
const worker = new Worker('bench', async ({ data }) => post([data]), {
  connection: connect(),
  concurrency: 64,
  autorun: false,
});
worker.on('completed', () => counted.done());
worker.on('failed', (_job, error) => process.stderr.write(`${error.stack}\n`));
let running = false;

await serve({
  queue: async (count) => {
    if (running) await worker.pause();
    for (let left = count; left > 0; left -= 1000)
      await queue.addBulk(makeRecords(Math.min(left, 1000)).map((data) => ({ name: 'record', data })));
  },
  drain: async (count) => {
    const done = counted.wait(count);
    if (running) await worker.resume();
    else void worker.run();
    running = true;
    await done;
  },
});
