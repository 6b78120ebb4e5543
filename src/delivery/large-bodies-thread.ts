/** The program of the thread that makes large bodies: it reads the records by a connection of its own. */
import { stat } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { recordReader } from '../store/sqlite/delivery/records.ts';
import { openSqlite } from '../store/sqlite/driver/sqlite.ts';
import { eventTypeStore } from '../store/sqlite/webhooks/event-types.ts';
import { type BatchBody, encryptionLookup, makeBatchBody, ownMemory } from './body.ts';
import type { BodyAnswer, BodyQuestion, BodyThreadNotice, BodyThreadStart } from './large-bodies-messages.ts';

const port = parentPort;
if (port !== null) {
  const { path } = workerData as BodyThreadStart;
  // Threads inherit it. This begins those that look names up and compress for the whole process, if nobody has yet.
  stat(path, () => giveWay((error) => port.postMessage({ cannotGiveWay: error } satisfies BodyThreadNotice)));
  const db = openSqlite(path, { readOnly: true });
  const records = recordReader(db);
  const eventTypes = eventTypeStore(db);
  const answer = async ({ number, request }: BodyQuestion): Promise<void> => {
    try {
      const body = await makeBatchBody(request, { records, mustBeEncrypted: encryptionLookup(eventTypes) });
      port.postMessage({ number, body } satisfies BodyAnswer, handedOver(body));
    } catch (error) {
      port.postMessage({ number, error: error as Error } satisfies BodyAnswer);
    }
  };
  port.on('message', (question: BodyQuestion) => void answer(question));
}

/**
 * Has the system prefer whoever else wants a processor, the event loop that answers calls above all. Linux has a priority for each
 * thread; elsewhere it would be that of the whole process. Everybody may lower their own, unless a filter of system calls is in the way:
 * without it bodies are made all the same, and calls wait for them where processors are few.
 */
function giveWay(refused: (error: Error) => void): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch (error) {
    // Deno asks for a permission that the service needs for nothing else.
    if ((error as Error).name !== 'NotCapable') refused(error as Error);
  }
}

/** What need not be copied. */
function handedOver(body: BatchBody): ArrayBuffer[] {
  const memory = typeof body === 'string' || 'unreadable' in body || !body.ok ? null : ownMemory(body.bytes);
  return memory === null ? [] : [memory];
}
