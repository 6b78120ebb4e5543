/** The program of the thread that makes large bodies. It reads the records through its own connection. */

import { stat } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { ownMemory } from '../kernel/own-memory.ts';
import type { Database, DatabaseSource } from '../store/port/database.ts';
import { POSTGRES_ANSWER_MS } from '../store/postgres/driver/limits.ts';
import { recordReader } from '../store/shared/delivery/dispatch.ts';
import { openSqlite } from '../store/sqlite/driver/sqlite.ts';
import { type BatchBody, makeBatchBody } from './body.ts';
import type { BodyAnswer, BodyQuestion, BodyThreadNotice, BodyThreadStart } from './large-bodies.ts';

/**
 * How much longer the thread for large bodies takes a silent server for slow. Its priority is low: on busy processors it may not run for
 * seconds. No request waits for it.
 */
const POSTGRES_BODY_THREAD_PATIENCE = 5;

const port = parentPort;
if (port !== null) {
  const { source } = workerData as BodyThreadStart;
  // Threads inherit the priority. `stat` starts the process's pool, which resolves names and compresses for everyone, before it is
  // lowered.
  stat('.', () => giveWay((error) => port.postMessage({ cannotGiveWay: error } satisfies BodyThreadNotice)));
  const opened = openReader(source).then(recordReader);
  // Each answer reports the failure.
  opened.catch(() => {});
  const answer = async ({ number, request }: BodyQuestion): Promise<void> => {
    try {
      const body = await makeBatchBody(request, await opened);
      port.postMessage({ number, body } satisfies BodyAnswer, handedOver(body));
    } catch (error) {
      port.postMessage({ number, error: error as Error } satisfies BodyAnswer);
    }
  };
  port.on('message', (question: BodyQuestion) => void answer(question));
}

/**
 * Lowers the thread's priority below the event loop's, which answers calls. Only Linux has a priority for each thread. Any process may
 * lower its own, unless a filter of system calls forbids it: then bodies are still made, but calls wait for them on few processors.
 */
function giveWay(refused: (error: Error) => void): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch (error) {
    // Deno requires a permission that the service needs for nothing else.
    if ((error as Error).name !== 'NotCapable') refused(error as Error);
  }
}

/** Memory to transfer instead of copying it. */
function handedOver(body: BatchBody): ArrayBuffer[] {
  const memory = typeof body === 'string' || 'unreadable' in body || !body.ok ? null : ownMemory(body.bytes);
  return memory === null ? [] : [memory];
}

async function openReader(source: DatabaseSource): Promise<Database> {
  if ('file' in source) return openSqlite(source.file, { readOnly: true });
  const { openPostgres } = await import('../store/postgres/driver/postgres.ts');
  return openPostgres({
    connection: { connectionString: source.url },
    answerMs: POSTGRES_ANSWER_MS * POSTGRES_BODY_THREAD_PATIENCE,
    patience: POSTGRES_BODY_THREAD_PATIENCE,
  });
}
