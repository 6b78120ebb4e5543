/** The program of `attack.ts`. */
import { readFileSync, writeSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { AttackPlan } from './attack.ts';

const plan = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as AttackPlan;
const { url, token, connections, method = 'POST', path, body = '', unfinished = false, cookie } = plan;
const bytes = Buffer.from(body);
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const replies: Record<string, number> = {};

/** Resolves with the reply, or when there is none. */
function once(): Promise<void> {
  return new Promise((resolve) => {
    const headers = {
      ...(cookie === undefined ? { authorization: `Bearer ${token}` } : { cookie }),
      ...(bytes.length === 0 ? {} : { 'content-type': 'application/json', 'content-length': bytes.length }),
    };
    const sent = request(url + path, { method, agent, headers }, (reply) => {
      const status = String(reply.statusCode);
      replies[status] = (replies[status] ?? 0) + 1;
      reply.resume().once('close', resolve);
    });
    sent.once('error', () => {
      replies.broken = (replies.broken ?? 0) + 1;
      resolve();
    });
    if (unfinished) sent.write(bytes.subarray(0, -1));
    else sent.end(bytes);
  });
}

process.once('SIGTERM', () => {
  writeSync(1, `${JSON.stringify(replies)}\n`);
  process.exit();
});
for (let n = 0; n < connections; n += 1)
  void (async () => {
    for (;;) await once();
  })();
// Until the first requests are in progress.
setTimeout(() => writeSync(1, '{}\n'), 300);
