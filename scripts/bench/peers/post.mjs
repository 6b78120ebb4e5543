/** The work of every queue for a record: the same signed POST over the same client, 64 connections, TLS verified. */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { Pool } from 'undici';

const SECRET = Buffer.alloc(32, 7);
const API_KEY = '0'.repeat(32);

/** `post(records)` resolves once the receiver has answered 2xx, and rejects otherwise. */
export function createPoster({ origin, ca, connections = 64 }) {
  const pool = new Pool(origin, { connections, allowH2: false, connect: { ca } });
  return async (records) => {
    const now = Date.now();
    const body = Buffer.from(envelope(records, now));
    const { statusCode, body: answer } = await pool.request({
      method: 'POST',
      path: '/hook',
      headers: signed(body, now),
      body,
    });
    await answer.dump();
    if (statusCode >= 300) throw new Error(`the receiver answered ${statusCode}`);
  };
}

/** The body that Sallyport sends of such records. */
export function envelope(records, now) {
  return JSON.stringify({
    subscriptionId: randomUUID(),
    sessionId: randomUUID(),
    attemptNumber: 1,
    records: records.map((record, offset) => ({
      offset,
      timestamp: new Date(now).toISOString(),
      lag: 0.01,
      correlationId: record.id,
      value: {
        headers: { messageId: record.id, eventType: 'bench.event', actorId: null, correlationId: record.id },
        benchEvent: record.data,
      },
    })),
  });
}

export function signed(body, now) {
  const digest = createHash('sha256').update(body).digest('base64');
  const date = new Date(now).toUTCString();
  const signature = createHmac('sha256', SECRET).update(`POST\n/hook\n${digest};${date}`).digest('base64');
  return {
    'user-agent': 'bench',
    'x-api-key': API_KEY,
    'content-type': 'application/json',
    'x-content-sha256': digest,
    date,
    authorization: `HMAC-SHA256 SignedHeaders=x-content-sha256;date&Signature=${signature}`,
  };
}

/** Records of 1 KiB of data each. */
export function makeRecords(count) {
  const data = { text: 'x'.repeat(1013) };
  return Array.from({ length: count }, () => ({ id: randomUUID(), data }));
}
