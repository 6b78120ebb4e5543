/**
 * When the write-ahead log is copied into the file, and by whom. The bulk by a thread with its own connection, while others write;
 * the little that came meanwhile by the writer itself, between two commits: then nothing is left to copy and the log begins anew.
 * Without that last part a log that is written to all the time would never be emptied.
 */
import { CHECKPOINT_FINISH_PAGES, CHECKPOINT_PAGES, CHECKPOINT_PAGES_MAX } from '../../../kernel/limits/database.ts';
import type { LogState } from './messages.ts';

export type Checkpoints = {
  /** Told of the log after every commit. */
  committed(log: LogState): void;
  /** Resolves once no copying is under way. */
  settled(): Promise<void>;
};

/** `copy` and `finish` copy what they can without waiting for anybody, and may reject. */
type Copying = {
  copy(): Promise<LogState>;
  finish(): Promise<LogState>;
  /** Tells of a failure, or answers false; called no more until one that was told of is followed by a success. */
  readonly tellFailure: (error: unknown) => boolean;
};

/**
 * A reader that stays in the log, such as a backup, keeps what it reads from being overwritten: then the log grows with what is
 * written, whoever copies, until the reader leaves; so it does while the disk has no room for the copy. It is tried again with every
 * further thousand pages, not at every commit. Where more is written than the thread copies, the writer copies the rest itself,
 * however long that holds it: the log stays bounded.
 */
export function createCheckpoints({ copy, finish, tellFailure }: Copying): Checkpoints {
  let log: LogState = { busy: false, pages: 0, copied: 0 };
  let nextAt = CHECKPOINT_PAGES;
  let underWay: Promise<void> | null = null;
  /** And that was told. */
  let isFailing = false;

  /** Copies until the rest is little, or too much; false: no more can be copied now. */
  const copyBulk = async (): Promise<boolean> => {
    while (left(log) > CHECKPOINT_FINISH_PAGES && left(log) < CHECKPOINT_PAGES_MAX) {
      const before = log.copied;
      const { pages, copied } = await copy();
      // Others have written meanwhile, and told so.
      log = { busy: false, pages: Math.max(pages, log.pages), copied };
      if (copied <= before && left(log) > 0) return false;
    }
    return true;
  };

  const run = async (): Promise<void> => {
    try {
      if (await copyBulk()) log = await finish();
      isFailing = false;
    } catch (error) {
      if (!isFailing) isFailing = tellFailure(error);
    }
    nextAt = left(log) + CHECKPOINT_PAGES;
    underWay = null;
  };

  return {
    committed: (state) => {
      log = state;
      if (underWay === null && left(log) >= nextAt) underWay = run();
    },
    settled: async () => {
      await underWay;
    },
  };
}

function left({ pages, copied }: LogState): number {
  return pages - copied;
}
