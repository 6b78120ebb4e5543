/**
 * Erasure (wire.md §4): the data of one person's events is overwritten wherever the service keeps it. It takes small steps, so that
 * nobody waits; asked for again it goes on where it was cut short, and finds nothing to do where it was not.
 *
 * A request that is on its way to a receiver cannot be called back: its batch may still arrive whole, though its records of that
 * person count as discarded. What the receiver answers to it is not kept.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Acting } from '../acting.ts';
import type { AuditAction, Changes } from '../audit.ts';
import { ERASURE_COPY_TRIES, ERASURE_FIRST_EVENTS, STEP_PAUSE_MIN_MS } from '../housekeeping-limits.ts';
import type { Clock, Ids } from '../ids.ts';
import { Refusal } from '../refusal.ts';
import { isoInstant } from '../schemas.ts';
import { nextSize } from '../store/steps.ts';
import type { Store } from '../store/store.ts';
import { validate } from '../validation.ts';
import { reference } from './publish.ts';

export const eraseInput = z
  .strictObject({
    subject: reference.meta({ description: 'Whom it is about, as the events said; for employees the `userId`.' }),
  })
  .meta({ id: 'EraseInput', description: 'Whose data to erase.' });

export const erasedView = z
  .object({
    subject: z.string(),
    events: z.int().meta({ description: 'Events whose data was overwritten.' }),
    deliveriesDiscarded: z.int().meta({ description: 'Pending deliveries of them, which are not sent any more.' }),
    attempts: z.int().meta({ description: 'Attempts that carried them and whose stored answer was overwritten.' }),
    backups: z.string().meta({ description: 'What is out of reach of the service.' }),
  })
  .meta({ id: 'Erased', description: 'What was erased by this request; by an earlier one, nothing is left.' });
export type ErasedView = z.infer<typeof erasedView>;

export type Erase = (body: unknown, acting: Acting) => Promise<ErasedView>;

type Dependencies = {
  readonly store: Pick<Store, 'erasures'>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Waits between two steps. */
  readonly pause?: (ms: number) => Promise<unknown>;
};

/** Throws 503 when the data is overwritten but a copy beside it is being read by another process and could not be removed. */
export function createErase({ store: { erasures }, clock, ids, pause = sleep }: Dependencies): Erase {
  const record = (action: AuditAction, subject: string, acting: Acting, changes: Changes): Promise<void> =>
    erasures.record({
      id: ids.uuid(),
      at: clock(),
      actor: acting.actor,
      action,
      target: `subject:${subject}`,
      changes,
    });

  /** What has happened by now; what comes later is not meant. */
  const eraseEvents = async (subject: string): Promise<Counts> => {
    let erased: Counts = { events: 0, deliveriesDiscarded: 0, attempts: 0 };
    const through = await erasures.lastEvent(subject);
    if (through === null) return erased;
    let size = ERASURE_FIRST_EVENTS;
    for (let after = -1; ; ) {
      const step = await erasures.step({ subject, after, through, at: clock() }, size);
      erased = {
        events: erased.events + step.events,
        deliveriesDiscarded: erased.deliveriesDiscarded + step.deliveriesDiscarded,
        attempts: erased.attempts + step.attempts,
      };
      if (step.done) return erased;
      after = step.through;
      const { statementsMs, commitMs } = step.took;
      // Somebody waits for the answer: a commit that is slow by itself makes the steps no smaller, and others have as long as it took.
      size = nextSize(size, { statementsMs, commitMs: 0 });
      await pause(Math.max(STEP_PAUSE_MIN_MS, statementsMs + commitMs));
    }
  };

  const forgetCopies = async (): Promise<void> => {
    for (let tries = 1; !(await erasures.forgetCopies()); tries += 1) {
      if (tries === ERASURE_COPY_TRIES) throw new Refusal('unavailable', A_COPY_REMAINS);
      await pause(STEP_PAUSE_MIN_MS * tries);
    }
  };

  return async (body, acting) => {
    const { subject } = validate(eraseInput, body);
    // Written first: nothing is ever overwritten without somebody standing for it. The second entry says what came of it.
    await record('event.erase', subject, acting, {});
    const erased = await eraseEvents(subject);
    await record(
      'event.erase-done',
      subject,
      acting,
      Object.fromEntries(Object.entries(erased).map(([what, count]) => [what, { from: null, to: count }])),
    );
    await forgetCopies();
    return { subject, ...erased, backups: outOfReach(clock()) };
  };
}

const A_COPY_REMAINS =
  'the data is erased, but another process is reading the database or its disk is full, and a copy may remain in its log: ask again';

type Counts = Pick<ErasedView, 'events' | 'deliveriesDiscarded' | 'attempts'>;

function outOfReach(now: number): string {
  return `Backups and copies of the database made before ${isoInstant(now)} still hold the data and are out of reach of this service: delete them, or ask for this again after restoring one.`;
}
