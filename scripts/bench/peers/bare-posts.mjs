/** The limit of the client: POSTs of one body that is made beforehand, no queue, nothing kept. Argument: the settings as JSON. */
import { Pool } from 'undici';
import { repeat, serve } from './commands.mjs';
import { envelope, makeRecords, signed } from './post.mjs';

const { origin, ca, recordsPerPost, connections = 64 } = JSON.parse(process.argv[2]);
const pool = new Pool(origin, { connections, allowH2: false, connect: { ca } });
const body = Buffer.from(envelope(makeRecords(recordsPerPost), Date.now()));
const headers = signed(body, Date.now());

await serve({
  queue: async () => {},
  drain: (records) =>
    repeat(records / recordsPerPost, connections, async () => {
      const answer = await pool.request({ method: 'POST', path: '/hook', headers, body });
      await answer.body.dump();
    }),
});
