/** The program of the thread that makes large bodies: it reads the records by a connection of its own. */
import { parentPort, workerData } from 'node:worker_threads';
import { eventTypeStore } from '../store/event-types.ts';
import { recordReader } from '../store/records.ts';
import { openSqlite } from '../store/sqlite.ts';
import { type BatchBody, encryptionRule, makeBatchBody } from './body.ts';
import type { BodyAnswer, BodyQuestion, BodyThreadStart } from './large-bodies-messages.ts';

const port = parentPort;
if (port !== null) {
  const db = openSqlite((workerData as BodyThreadStart).path, { readOnly: true });
  const records = recordReader(db);
  const eventTypes = eventTypeStore(db);
  const answer = async ({ number, request }: BodyQuestion): Promise<void> => {
    try {
      const body = await makeBatchBody(request, { records, mustBeEncrypted: encryptionRule(eventTypes) });
      port.postMessage({ number, body } satisfies BodyAnswer, handedOver(body));
    } catch (error) {
      port.postMessage({ number, error: error as Error } satisfies BodyAnswer);
    }
  };
  port.on('message', (question: BodyQuestion) => void answer(question));
}

/** What need not be copied: bytes in memory of their own. */
function handedOver(body: BatchBody): ArrayBuffer[] {
  if (typeof body === 'string' || !body.ok) return [];
  const { buffer, byteLength } = body.bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
