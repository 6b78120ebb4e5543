/** graphile-worker: a job a record, 64 at a time, fetched and completed in batches as its documentation advises for throughput. */
import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker';
import { countdown, serve } from './commands.mjs';
import { createPoster, makeRecords } from './post.mjs';

const { origin, ca, postgres } = JSON.parse(process.argv[2]);
const post = createPoster({ origin, ca });
const logger = new Logger(() => (level, text) => {
  if (level === 'error') process.stderr.write(`${text}\n`);
});
const preset = {
  worker: {
    connectionString: postgres,
    concurrentJobs: 64,
    maxPoolSize: 66,
    pollInterval: 500,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
  },
};
await runMigrations({ connectionString: postgres, logger });
const utils = await makeWorkerUtils({ connectionString: postgres, logger });
const counted = countdown();

await serve({
  queue: async (count) => {
    for (let left = count; left > 0; left -= 1000)
      await utils.addJobs(makeRecords(Math.min(left, 1000)).map((payload) => ({ identifier: 'deliver', payload })));
  },
  drain: async (count) => {
    const done = counted.wait(count);
    const runner = await run({
      preset,
      logger,
      noHandleSignals: true,
      taskList: {
        deliver: async (payload) => {
          await post([payload]);
          counted.done();
        },
      },
    });
    await done;
    await runner.stop();
  },
});
