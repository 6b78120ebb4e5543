/**
 * The program of a thread of the database: a connection of its own, and whatever the event loop asks for, one after the other.
 * What was asked for while it was at something else shares the next commit.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { BUSY_WAIT_MS, LISTS_PER_COMMIT } from '../database-limits.ts';
import { type Connection, createWrites, openConnection, type Prepared } from './sqlite-connection.ts';
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
} from './sqlite-messages.ts';
import { type Aside, createPacking, unpackedValue } from './sqlite-packing.ts';
import { type Bound, createCommitLists } from './sqlite-transaction.ts';

/** How long the thread, for which nothing else waits, lets SQLite wait for a writer in another process. */
export type ThreadStart = { readonly path: string; readonly busyWaitMs: number };

/** A list with what its values refer to. */
type List = { readonly statements: SentList; readonly asides: readonly Aside[] };

const port = parentPort;
if (port !== null) {
  const { path, busyWaitMs } = workerData as ThreadStart;
  const connection = openConnection(path);
  connection.pragma(`busy_timeout = ${busyWaitMs}`);
  // When to copy the log into the file is decided by the event loop (checkpoints.ts).
  connection.pragma('wal_autocheckpoint = 0');
  const answer = answering({ connection, busyWaitMs, reply: (reply) => port.postMessage(reply) });
  let requests: ThreadRequest[] = [];
  const answerAll = (): void => {
    const asked = requests;
    requests = [];
    if (answer(asked)) return;
    connection.close();
    // Nothing else keeps the thread alive. Deno's port cannot be closed.
    port.unref();
  };
  // All that is there already comes before the immediate.
  port.on('message', (request: ThreadRequest) => {
    if (requests.push(request) === 1) setImmediate(answerAll);
  });
  port.postMessage({ kind: 'ready' } satisfies ThreadReply);
}

type Answering = {
  readonly connection: Connection;
  readonly busyWaitMs: number;
  readonly reply: (reply: ThreadReply) => void;
};

/** Answers requests in their order; false: one of them was to close. */
function answering({ connection, busyWaitMs, reply }: Answering): (requests: ThreadRequest[]) => boolean {
  const prepare = createWrites(connection);
  const texts: string[] = [];
  const commitLists = createCommitLists<List>(connection, ({ statements, asides }) =>
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

  const commitWaiting = (): void => {
    while (waiting.length > 0) {
      const lists = waiting.slice(0, LISTS_PER_COMMIT);
      const packing = createPacking();
      let outcomes: readonly SentOutcome[];
      let commitMs = 0;
      try {
        const committed = commitLists(lists);
        outcomes = committed.outcomes.map((outcome) => sentOutcome(outcome, packing));
        commitMs = committed.commitMs;
      } catch (error) {
        const refusal = sentError(error);
        outcomes = lists.map(() => ({ refusal }));
      }
      waiting = waiting.slice(outcomes.length);
      reply({ kind: 'committed', outcomes: packing.end(outcomes), commitMs, log: toLogState(logState.get()) });
    }
  };

  /** What waits for readers waits with the writer's lock: a moment, and whoever asked may ask again. */
  const checkpoint = (mode: CheckpointMode): ThreadReply => {
    connection.pragma(`busy_timeout = ${BUSY_WAIT_MS}`);
    try {
      const row = connection.prepare(`PRAGMA wal_checkpoint(${mode})`).raw().get();
      return { kind: 'checkpointed', log: toLogState(row) };
    } catch (error) {
      return { kind: 'notCheckpointed', refusal: sentError(error) };
    } finally {
      connection.pragma(`busy_timeout = ${busyWaitMs}`);
    }
  };

  return (requests) => {
    for (const request of requests) {
      if (request.kind === 'lists') {
        texts.push(...request.texts);
        const { json, asides } = request.lists;
        for (const statements of JSON.parse(json) as SentList[]) waiting.push({ statements, asides });
        continue;
      }
      commitWaiting();
      if (request.kind === 'close') return false;
      reply(checkpoint(request.mode));
    }
    commitWaiting();
    return true;
  };
}

function toLogState(row: unknown): LogState {
  const [busy, pages, copied] = row as [number, number, number];
  return { busy: busy !== 0, pages, copied };
}
