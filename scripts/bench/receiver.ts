/**
 * A customer's receiver for benchmarks, in a process of its own: an HTTPS server that reads each request to its end, answers
 * 200, and tells its parent how much came. The parent starts it with `startReceiver` of receiver-process.ts.
 */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

type Start = { readonly certificate: string; readonly privateKey: string; readonly answerAfterMs: number };

let requests = 0;
let bytes = 0;

process.once('message', ({ certificate, privateKey, answerAfterMs }: Start) => {
  const server = createServer({ cert: certificate, key: privateKey, keepAliveTimeout: 60_000 }, (request, response) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      requests += 1;
      const answer = (): void => void response.writeHead(200, { 'content-length': '0' }).end();
      if (answerAfterMs === 0) answer();
      else setTimeout(answer, answerAfterMs);
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.on('message', () => process.send?.({ requests, bytes }));
});
process.once('disconnect', () => process.exit(0));
