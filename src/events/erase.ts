/**
 * Erasure (contract §4.15) overwrites the data of one person's events wherever the service keeps it. One commit records the erasure. From
 * then on no delivery reads those events. Overwriting takes small steps, so that nothing else waits long. If the process stops, the
 * erasure continues at the next start.
 *
 * A request that carries such an event at that moment is aborted, and its batch is sent again without the event. The receiver may have
 * read it by then. The receiver's answer is not kept.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Acting } from '../domain/acting.ts';
import { type AuditAction, type AuditEntry, auditEntry, type Changes } from '../domain/audit.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { Refusal } from '../kernel/refusal.ts';
import { id, instant, isoInstant } from '../kernel/schemas.ts';
import { StaleWrite } from '../store/port/errors.ts';
import type { Erasure } from '../store/port/events.ts';
import { FIRST_SIZE, nextSize, STEP_PAUSE_MIN_MS } from '../store/port/steps.ts';
import type { Store } from '../store/port/store.ts';
import { reference } from './event-input.ts';

/** Events in the first step of an erasure. Each also rewrites its neighbours in the file. */
const ERASURE_FIRST_EVENTS = 4;

/** How long the reply to an erasure waits for its end before it refers to the status. */
const ERASURE_REPLY_MS = 2000;

/** How often the server looks for erasures that a command began or left unfinished. */
const ERASURE_LOOK_MS = 1000;

/** The longest pause before another attempt to remove old copies of data that another process is reading. */
const ERASURE_COPY_PAUSE_MS = 2000;

export const eraseInput = z
  .strictObject({
    subject: reference.meta({ description: 'The subject of the events; for employees the `userId`.' }),
  })
  .meta({ id: 'EraseInput', description: 'Whose data to erase.' });
type EraseInput = z.output<typeof eraseInput>;

const STATES = ['overwriting', 'removing_copies', 'finished'] as const;

export const erasedView = z
  .object({
    id,
    subject: z.string(),
    state: z.enum(STATES).meta({
      description:
        '`overwriting`: some of the data is still in the database, and none of it is sent. `removing_copies`: it ' +
        'is overwritten, and copies in the write-ahead log remain until no other process reads the database.',
    }),
    events: z.int().meta({ description: 'Events whose data was overwritten so far.' }),
    deliveriesDiscarded: z.int().meta({ description: 'Pending deliveries of them, which are not sent any more.' }),
    attempts: z.int().meta({ description: 'Attempts that carried them and whose stored answer was overwritten.' }),
    startedAt: instant,
    finishedAt: instant.nullable(),
    backups: z.string().meta({ description: 'Copies that the service cannot erase.' }),
  })
  .meta({ id: 'Erased', description: 'The counts of an erasure, without data that an earlier one erased.' });
export type ErasedView = z.infer<typeof erasedView>;

export type Erasures = {
  /**
   * Records an erasure and carries it out. Resolves when it is finished, or after two seconds with its state so far. It continues in this
   * process, and at the next start of the server.
   */
  erase(input: EraseInput, acting: Acting): Promise<ErasedView>;
  /** Throws 404. */
  get(id: string): Promise<ErasedView>;
};

/** The work on unfinished erasures in this process. */
export type ErasureWork = {
  /** Works on every unfinished erasure from now on, including those of other processes. */
  start(): void;
  /** Finishes the current step. */
  stop(): Promise<void>;
};

type Dependencies = {
  readonly store: Pick<Store, 'erasures'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Pick<Log, 'error'>;
  /** Ends requests that carry events about the subject. */
  readonly recall?: (subject: string) => void;
  /** Waits between two steps. */
  readonly pause?: (ms: number) => Promise<unknown>;
  readonly replyMs?: number;
};

export function createErasures(dependencies: Dependencies): Erasures & ErasureWork {
  const { store, clock, ids, log, recall = () => {}, pause = sleep, replyMs = ERASURE_REPLY_MS } = dependencies;
  const { erasures } = store;
  const worker = { erasures, pause, isStopping: (): boolean => isStopping };
  /** The unfinished erasures that this process works on. */
  const known = new Map<string, Promise<void>>();
  let last: Promise<void> = Promise.resolve();
  let isStopping = false;
  let look: NodeJS.Timeout | null = null;

  const entry = (
    action: AuditAction,
    { subject, actor }: Pick<Erasure, 'subject' | 'actor'>,
    changes: Changes,
  ): AuditEntry => auditEntry(ids, actor, action, `subject:${subject}`, { at: clock(), changes });

  /** Works on one erasure after another. Resolves when this one is finished or the process stops. */
  const follow = ({ id, subject }: Pick<Erasure, 'id' | 'subject'>): Promise<void> => {
    const begun = known.get(id);
    if (begun !== undefined) return begun;
    recall(subject);
    const overwritten = last.then(() => overwrite(worker, id)).then(() => discardWaiting(worker, id));
    last = overwritten.catch(() => undefined);
    const work = overwritten
      .then(() => removeCopies(worker, id))
      .then(async (erasure) => {
        if (erasure === null) return;
        const counts = Object.entries(countsOf(erasure)).map(([what, count]) => [what, { from: null, to: count }]);
        await unlessStale(erasures.finish(id, clock(), entry('event.erase-done', erasure, Object.fromEntries(counts))));
      })
      .catch((err: unknown) => log.error({ erasureId: id, err }, 'an erasure was interrupted; it will be resumed'))
      .finally(() => known.delete(id));
    known.set(id, work);
    return work;
  };

  const get = async (id: string): Promise<ErasedView> => {
    const erasure = await erasures.get(id);
    if (erasure === null) throw new Refusal('not_found', `there is no erasure ${id.slice(0, 64)}`);
    return view(erasure);
  };

  const followAll = (): Promise<unknown> =>
    erasures
      .open()
      .then((open) => Promise.all(open.map(follow)))
      .catch((err: unknown) => log.error({ err }, 'unfinished erasures could not be read'));

  return {
    get,
    erase: async ({ subject }, { actor }) => {
      const erasure = { id: ids.uuid(), subject, actor, startedAt: clock() };
      // Written with the erasure, so that no data is overwritten without an audit entry. A second entry has the result.
      await erasures.begin(erasure, entry('event.erase', erasure, {}));
      const patience = new AbortController();
      await Promise.race([
        follow(erasure),
        sleep(replyMs, undefined, { signal: patience.signal }).catch(() => undefined),
      ]);
      patience.abort();
      return get(erasure.id);
    },
    start: () => {
      void followAll();
      look = setInterval(() => void followAll(), ERASURE_LOOK_MS);
    },
    stop: async () => {
      isStopping = true;
      if (look !== null) clearInterval(look);
      await Promise.all(known.values());
    },
  };
}

type Worker = {
  readonly erasures: Store['erasures'];
  readonly pause: (ms: number) => Promise<unknown>;
  readonly isStopping: () => boolean;
};

async function overwrite({ erasures, pause, isStopping }: Worker, id: string): Promise<void> {
  let size = ERASURE_FIRST_EVENTS;
  while (!isStopping()) {
    const erasure = await erasures.get(id);
    if (erasure === null || stateOf(erasure) !== 'overwriting') return;
    const step = await unlessStale(erasures.step(erasure, size));
    // Another process did the same step: read the erasure again.
    if (step === null) continue;
    if (step.done) return;
    const { statementsMs, commitMs } = step.took;
    // Someone waits for the answer, so a slow commit does not shrink the steps. The pause gives others as much time as the step took.
    size = nextSize(size, { statementsMs, commitMs: 0 });
    await pause(Math.max(STEP_PAUSE_MIN_MS, statementsMs + commitMs));
  }
}

/** Begins with the first event, also after an interruption, because batches may have got their rows since the events were overwritten. */
async function discardWaiting({ erasures, pause, isStopping }: Worker, id: string): Promise<void> {
  const erasure = isStopping() ? null : await erasures.get(id);
  if (erasure === null || stateOf(erasure) !== 'removing_copies') return;
  let size = FIRST_SIZE;
  for (let after = -1; !isStopping(); ) {
    const { done, reached, took } = await erasures.discardWaiting(erasure, after, size);
    if (done) return;
    after = reached;
    size = nextSize(size, took);
    await pause(Math.max(STEP_PAUSE_MIN_MS, took.statementsMs + took.commitMs));
  }
}

/**
 * Removes the copies in the write-ahead log. A step of its own, because another process, such as a backup, may read the database for
 * minutes. Returns the erasure to finish; null if there is none, or if the process stops.
 */
async function removeCopies({ erasures, pause, isStopping }: Worker, id: string): Promise<Erasure | null> {
  for (let tries = 1; !isStopping() && !(await erasures.forgetCopies()); tries += 1) {
    await pause(Math.min(STEP_PAUSE_MIN_MS * tries, ERASURE_COPY_PAUSE_MS));
  }
  const erasure = isStopping() ? null : await erasures.get(id);
  return erasure?.finishedAt === null ? erasure : null;
}

async function unlessStale<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (error instanceof StaleWrite) return null;
    throw error;
  });
}

type Counts = Pick<ErasedView, 'events' | 'deliveriesDiscarded' | 'attempts'>;

function countsOf({ events, deliveriesDiscarded, attempts }: Erasure): Counts {
  return { events, deliveriesDiscarded, attempts };
}

function stateOf({ finishedAt, after, through }: Erasure): ErasedView['state'] {
  if (finishedAt !== null) return 'finished';
  return after >= through ? 'removing_copies' : 'overwriting';
}

function view(erasure: Erasure): ErasedView {
  const { id, subject, startedAt, finishedAt } = erasure;
  return {
    id,
    subject,
    state: stateOf(erasure),
    ...countsOf(erasure),
    startedAt: isoInstant(startedAt),
    finishedAt: isoInstant(finishedAt),
    backups: outOfReach(startedAt),
  };
}

function outOfReach(startedAt: number): string {
  return (
    `Backups and copies of the database made before ${isoInstant(startedAt)} still hold the data and are out of ` +
    'reach of this service: delete them, or ask for this again after restoring one.'
  );
}
