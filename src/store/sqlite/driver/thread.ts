/**
 * The program of a database thread. It has its own connection and answers the requests of the event loop in their order. Lists that
 * arrive during a commit share the next one.
 */

import { type MessagePort, parentPort } from 'node:worker_threads';
import {
  type Connection,
  createFileCheck,
  createStatements,
  type FileCheck,
  openToWrite,
  type PreparedStatement,
} from './connection.ts';
import { isBusy, unavailableError } from './errors.ts';
import { BUSY_GIVE_UP_MS, BUSY_PAUSE_MS, LISTS_PER_COMMIT } from './limits.ts';
import {
  type CheckpointMode,
  receivedLists,
  type SentStatement,
  sentError,
  sentOutcome,
  type ThreadReply,
  type ThreadRequest,
  type ThreadStart,
} from './thread-writer.ts';
import { type Bound, createCommitLists, type ListOutcome, type LogState } from './writer.ts';

/** A list, and when it arrived by this thread's monotonic clock. */
type ArrivedList = { readonly statements: readonly SentStatement[]; readonly arrivedAt: number };

type ArrivedRequest = { readonly request: ThreadRequest; readonly arrivedAt: number };

const eventLoop = parentPort;
eventLoop?.once('message', (start: ThreadStart) => answerRequests(eventLoop, start));

function answerRequests(port: MessagePort, { path, files }: ThreadStart): void {
  const { connection } = openToWrite(path, files);
  // The event loop decides when to checkpoint (thread-writer.ts).
  connection.pragma('wal_autocheckpoint = 0');
  // Otherwise SQLite begins a temporary file whenever the pages that one list changes exceed 64 KiB.
  connection.pragma('temp_store = MEMORY');
  const reply = (message: ThreadReply): void => port.postMessage(message);
  const answer = createAnswer({ connection, files: createFileCheck(path, files), reply });
  const requests: ArrivedRequest[] = [];
  let isScheduled = false;
  const answerAll = (): void => {
    isScheduled = false;
    const progress = answer(requests);
    if (progress === 'locked') {
      // A timer, not SQLite's busy handler: requests that arrive during the pause get the time of their arrival.
      isScheduled = true;
      setTimeout(answerAll, BUSY_PAUSE_MS);
    } else if (progress === 'closed') {
      connection.close();
      // Nothing else keeps the thread alive. Deno's port cannot be closed.
      port.unref();
    }
  };
  port.on('message', (request: ThreadRequest) => {
    requests.push({ request, arrivedAt: performance.now() });
    if (isScheduled) return;
    isScheduled = true;
    // Every message that has arrived is received before the immediate runs.
    setImmediate(answerAll);
  });
  reply({ kind: 'ready' });
}

type AnswerParts = {
  readonly connection: Connection;
  readonly files: FileCheck;
  readonly reply: (reply: ThreadReply) => void;
};

/** `locked`: another process holds the database, and the requests left in the array must be answered later. */
type Progress = 'done' | 'locked' | 'closed';

/** Answers requests in their order and removes the answered ones from the array. */
function createAnswer({ connection, files, reply }: AnswerParts): (requests: ArrivedRequest[]) => Progress {
  const prepare = createStatements(connection);
  const texts: string[] = [];
  const prepared: PreparedStatement[] = [];
  const commitLists = createCommitLists<ArrivedList>(connection, files, ({ statements }) => statements.map(bind));
  const logState = connection.prepare('PRAGMA wal_checkpoint(NOOP)').raw();
  let waiting: ArrivedList[] = [];

  /** Compiles a statement at its first use, so that invalid SQL refuses only its own list. */
  const bind = ({ number, expectChanges, values }: SentStatement): Bound => {
    prepared[number] ??= prepare(texts[number] ?? '');
    return { prepared: prepared[number], values, expectChanges };
  };

  /** Answers the first lists that wait. */
  const answerLists = (outcomes: readonly ListOutcome[], commitMs: number): void => {
    waiting = waiting.slice(outcomes.length);
    reply({ kind: 'committed', outcomes: outcomes.map(sentOutcome), commitMs, log: logNow() });
  };

  const refuse = (count: number, cause: unknown): void => {
    const error = unavailableError(cause);
    answerLists(
      waiting.slice(0, count).map(() => ({ ok: false, error })),
      0,
    );
  };

  /** Returns false if another process holds the database and some lists may wait on. */
  const commitWaiting = (): boolean => {
    while (waiting.length > 0) {
      const lists = waiting.slice(0, LISTS_PER_COMMIT);
      try {
        const { outcomes, commitMs } = commitLists(lists);
        answerLists(outcomes, commitMs);
      } catch (error) {
        if (isBusy(error)) {
          const now = performance.now();
          const patient = waiting.findIndex(({ arrivedAt }) => now - arrivedAt <= BUSY_GIVE_UP_MS);
          if (patient !== 0) refuse(patient === -1 ? waiting.length : patient, error);
          return waiting.length === 0;
        }
        refuse(lists.length, error);
      }
    }
    return true;
  };

  let latest: LogState = { busy: false, pages: 0, copied: 0 };
  /** The last known state if it cannot be read, for example on a damaged disk: every list must be answered. */
  const logNow = (): LogState => {
    try {
      latest = toLogState(logState.get());
    } catch {}
    return latest;
  };

  const checkpoint = (mode: CheckpointMode): ThreadReply => {
    try {
      const row = connection.prepare(`PRAGMA wal_checkpoint(${mode})`).raw().get();
      return { kind: 'checkpointed', log: toLogState(row) };
    } catch (error) {
      return { kind: 'notCheckpointed', error: sentError(error) };
    }
  };

  return (requests) => {
    for (let next = requests[0]; next !== undefined; next = requests[0]) {
      const { request, arrivedAt } = next;
      if (request.kind === 'lists') {
        texts.push(...request.texts);
        for (const statements of receivedLists(request.lists)) waiting.push({ statements, arrivedAt });
      } else {
        if (!commitWaiting()) return 'locked';
        if (request.kind === 'close') return 'closed';
        reply(checkpoint(request.mode));
      }
      requests.shift();
    }
    return commitWaiting() ? 'done' : 'locked';
  };
}

function toLogState(row: unknown): LogState {
  const [busy, pages, copied] = row as [number, number, number];
  return { busy: busy !== 0, pages, copied };
}
