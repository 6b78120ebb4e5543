/**
 * A customer's receiver for benchmarks, in a process of its own: an HTTPS server that reads each request to its end, answers
 * 200, and tells its parent how much came, and if asked for, how long after the events' `sentAt`. The parent starts it with `startReceiver`
 * of receiver-process.ts.
 */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { monotonicMicros } from './harness/profile.ts';

/** Bodies of one record of 1 KiB arrive whole. */
const SENT_AT = /"sentAt":(\d+)/;

type Start = {
  readonly certificate: string;
  readonly privateKey: string;
  readonly answerAfterMs: number;
  readonly readsLags: boolean;
};

let requests = 0;
let bytes = 0;
/** Milliseconds from the publisher's request to the first byte of the delivery. */
let lags: number[] = [];

process.once('message', ({ certificate, privateKey, answerAfterMs, readsLags }: Start) => {
  const server = createServer({ cert: certificate, key: privateKey, keepAliveTimeout: 60_000 }, (request, response) => {
    const arrivedAt = monotonicMicros();
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      const sentAt = readsLags ? SENT_AT.exec(chunk.toString()) : null;
      if (sentAt !== null) lags.push((arrivedAt - Number(sentAt[1])) / 1000);
    });
    request.on('end', () => {
      requests += 1;
      const answer = (): void => void response.writeHead(200, { 'content-length': '0' }).end();
      if (answerAfterMs === 0) answer();
      else setTimeout(answer, answerAfterMs);
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.on('message', () => {
    process.send?.({ requests, bytes, lags });
    lags = [];
  });
});
process.once('disconnect', () => process.exit(0));
