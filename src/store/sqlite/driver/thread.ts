/**
 * The program of a thread of the database: a connection of its own, and whatever the event loop asks for, one after the other.
 * What was asked for while it was at something else shares the next commit.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { BUSY_GIVE_UP_MS, BUSY_PAUSE_MS, BUSY_WAIT_MS, LISTS_PER_COMMIT } from '../../../kernel/limits/database.ts';
import { type Connection, createWrites, isBusy, openToWrite, type Prepared, unavailableError } from './connection.ts';
import { createFileCheck, type FileCheck } from './database-files.ts';
import {
  type CheckpointMode,
  type LogState,
  type SentList,
  type SentOutcome,
  type SentStatement,
  sentError,
  sentOutcome,
  type ThreadReply,
  type ThreadRequest,
} from './messages.ts';
import { type Aside, createPacking, unpackedValue } from './packing.ts';
import type { OpenedFiles } from './thread-handle.ts';
import { type Bound, createCommitLists } from './transaction.ts';

/** A list with what its values refer to, and since when it is here by this thread's stopwatch. */
type List = { readonly statements: SentList; readonly asides: readonly Aside[]; readonly since: number };

/** A request, and when it came. */
type Asked = { readonly request: ThreadRequest; readonly at: number };

const port = parentPort;
if (port !== null) {
  const { path, files } = workerData as OpenedFiles;
  const { connection } = openToWrite(path, files);
  connection.pragma(`busy_timeout = ${BUSY_WAIT_MS}`);
  // When to copy the log into the file is decided by the event loop (checkpoints.ts).
  connection.pragma('wal_autocheckpoint = 0');
  const reply = (message: ThreadReply): void => port.postMessage(message);
  const answer = answering({ connection, files: createFileCheck(path, files), reply });
  const asked: Asked[] = [];
  let isScheduled = false;
  const answerAll = (): void => {
    isScheduled = false;
    const progress = answer(asked);
    if (progress === 'locked') {
      // Not waited out here: each request may wait for so long, and what comes meanwhile is noticed when it comes.
      isScheduled = true;
      setTimeout(answerAll, BUSY_PAUSE_MS);
    } else if (progress === 'closed') {
      connection.close();
      // Nothing else keeps the thread alive. Deno's port cannot be closed.
      port.unref();
    }
  };
  port.on('message', (request: ThreadRequest) => {
    asked.push({ request, at: performance.now() });
    if (isScheduled) return;
    isScheduled = true;
    // All that is there already comes before the immediate.
    setImmediate(answerAll);
  });
  reply({ kind: 'ready' });
}

type Answering = {
  readonly connection: Connection;
  readonly files: FileCheck;
  readonly reply: (reply: ThreadReply) => void;
};

/** `locked`: another process holds the file, and the requests that are left in the array are to be asked again; `closed`: by one of them. */
type Progress = 'done' | 'locked' | 'closed';

/** Answers requests in their order, and takes from the array what it has dealt with. */
function answering({ connection, files, reply }: Answering): (asked: Asked[]) => Progress {
  const prepare = createWrites(connection);
  const texts: string[] = [];
  const commitLists = createCommitLists<List>(connection, files, ({ statements, asides }) =>
    statements.map((statement) => bind(statement, asides)),
  );
  const logState = connection.prepare('PRAGMA wal_checkpoint(NOOP)').raw();
  let waiting: List[] = [];

  /** Compiled at its first use, so that one that is no SQL is refused with its list. */
  const prepared: Prepared[] = [];
  const bind = ([number, expectChanges, ...packed]: SentStatement, asides: readonly Aside[]): Bound => {
    const known = prepared[number] ?? prepare(texts[number] ?? '');
    prepared[number] = known;
    const values = packed.map((value) => unpackedValue(value, asides));
    return { prepared: known, values, expectChanges: expectChanges === -1 ? undefined : expectChanges };
  };

  /** Lists that all fail, the first `count` of those that wait. */
  const refuse = (count: number, error: unknown): void => {
    const refusal = sentError(unavailableError(error));
    answer(
      waiting.slice(0, count).map(() => ({ refusal })),
      createPacking(),
      0,
    );
  };

  const answer = (
    outcomes: readonly SentOutcome[],
    packing: ReturnType<typeof createPacking>,
    commitMs: number,
  ): void => {
    waiting = waiting.slice(outcomes.length);
    reply({ kind: 'committed', outcomes: packing.end(outcomes), commitMs, log: logNow() });
  };

  /** False: another process holds the file, and some may wait on. */
  const commitWaiting = (): boolean => {
    while (waiting.length > 0) {
      const lists = waiting.slice(0, LISTS_PER_COMMIT);
      try {
        const { outcomes, commitMs } = commitLists(lists);
        const packing = createPacking();
        answer(
          outcomes.map((outcome) => sentOutcome(outcome, packing)),
          packing,
          commitMs,
        );
      } catch (error) {
        if (isBusy(error)) {
          const now = performance.now();
          const patient = waiting.findIndex(({ since }) => now - since <= BUSY_GIVE_UP_MS);
          if (patient !== 0) refuse(patient === -1 ? waiting.length : patient, error);
          return waiting.length === 0;
        }
        refuse(lists.length, error);
      }
    }
    return true;
  };

  let latest: LogState = { busy: false, pages: 0, copied: 0 };
  /** As it was last seen where it cannot be seen: on a damaged disk, say. */
  const logNow = (): LogState => {
    try {
      latest = toLogState(logState.get());
    } catch {
      // Whoever waits for an answer gets one.
    }
    return latest;
  };

  /** What waits for readers waits with the writer's lock: a moment, and whoever asked may ask again. */
  const checkpoint = (mode: CheckpointMode): ThreadReply => {
    try {
      const row = connection.prepare(`PRAGMA wal_checkpoint(${mode})`).raw().get();
      return { kind: 'checkpointed', log: toLogState(row) };
    } catch (error) {
      return { kind: 'notCheckpointed', refusal: sentError(error) };
    }
  };

  return (asked) => {
    for (let next = asked[0]; next !== undefined; next = asked[0]) {
      const { request, at } = next;
      if (request.kind === 'lists') {
        texts.push(...request.texts);
        const { json, asides } = request.lists;
        for (const statements of JSON.parse(json) as SentList[]) waiting.push({ statements, asides, since: at });
      } else {
        if (!commitWaiting()) return 'locked';
        if (request.kind === 'close') return 'closed';
        reply(checkpoint(request.mode));
      }
      asked.shift();
    }
    return commitWaiting() ? 'done' : 'locked';
  };
}

function toLogState(row: unknown): LogState {
  const [busy, pages, copied] = row as [number, number, number];
  return { busy: busy !== 0, pages, copied };
}
