/**
 * pg-boss: a job a record. Jobs are fetched many at a time, continuously while there are any; with one record a POST each job is
 * settled separately, with several the handler's whole batch is one POST.
 */
import { PgBoss } from 'pg-boss';
import { countdown, serve } from './commands.mjs';
import { createPoster, makeRecords } from './post.mjs';

const { origin, ca, postgres, recordsPerPost } = JSON.parse(process.argv[2]);
const QUEUE = `bench${recordsPerPost}`;
const post = createPoster({ origin, ca });
const boss = new PgBoss({ connectionString: postgres, schema: QUEUE, max: 20 });
boss.on('error', (error) => process.stderr.write(`${error.stack}\n`));
await boss.start();
await boss.createQueue(QUEUE);
const counted = countdown();
const shared = { pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };

const one = async (job) => {
  await post([job.data]);
  return { id: job.id, status: 'completed' };
};
const work = () =>
  recordsPerPost === 1
    ? boss.work(QUEUE, { ...shared, batchSize: 64, localConcurrency: 4, perJobResults: true }, async (jobs) => {
        const results = await Promise.all(jobs.map(one));
        counted.done(jobs.length);
        return results;
      })
    : boss.work(QUEUE, { ...shared, batchSize: recordsPerPost, localConcurrency: 8 }, async (jobs) => {
        await post(jobs.map(({ data }) => data));
        counted.done(jobs.length);
      });

await serve({
  queue: async (count) => {
    for (let left = count; left > 0; left -= 1000)
      await boss.insert(
        QUEUE,
        makeRecords(Math.min(left, 1000)).map((data) => ({ data })),
      );
  },
  drain: async (count) => {
    const done = counted.wait(count);
    await work();
    await done;
    await boss.offWork(QUEUE, { wait: true });
  },
});
