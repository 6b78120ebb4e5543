/** Follows the store: begins and ends the logs of webhooks as they start, stop and change, and learns how far logs reach. */
import type { LogPosition } from '../domain/batch.ts';
import type { Clock } from '../kernel/ids.ts';
import type { DispatchVerbs } from '../store/port/dispatch.ts';
import type { AttemptsInProgress } from './deliver.ts';
import { ENDS_EVERY_MS, ENDS_PER_LOOK, POSITIONS_AT_ONCE } from './limits.ts';
import { returnParked } from './parked.ts';
import { positionToWrite, type WebhookLogs } from './webhook-logs.ts';

export type ChangeReader = {
  /** Reads the positions of changed webhooks, and of webhooks for which this process begins to send. One call at a time. */
  read(): Promise<void>;
  /**
   * The next look reads the webhook. Code that sees it stopped or deleted calls this instead of ending its log: it may have started
   * again since it was seen, and the store reports each start once.
   */
  readAgain(webhookNumber: number): void;
  /** Other processes may have taken the webhooks whose positions are being read: they are read again. */
  forget(): void;
  /**
   * Reads how far logs reach: always those to which this process has appended, and the others in turns, because other processes append too.
   */
  readEnds(): Promise<void>;
  /** Ends requests of stopped webhooks. Reads the store, because another process may stop a webhook too; at most once a poll. */
  endStopped(): Promise<void>;
};

type Options = {
  readonly store: Pick<DispatchVerbs, 'dispatch'>;
  readonly clock: Clock;
  readonly logs: WebhookLogs;
  readonly attempts: Pick<AttemptsInProgress, 'isIdle' | 'endStopped'>;
  readonly pollMs: number;
  /** Another look may find work. */
  readonly wake: () => void;
  readonly writePosition: (webhookNumber: number) => Promise<void>;
  /** Gives back the claimed jobs of the webhook that have not started. */
  readonly giveBack: (webhookNumber: number) => void;
};

export function createChangeReader(options: Options): ChangeReader {
  const { store, clock, logs, attempts, pollMs, wake, writePosition, giveBack } = options;
  /** Webhooks whose positions are to be read. */
  const unread = new Set<number>();
  /** Those whose positions are being read, or were read last. */
  let reading: readonly number[] = [];
  let endsReadAt = Number.NEGATIVE_INFINITY;
  let stoppedReadAt = Number.NEGATIVE_INFINITY;

  /** Reads once more if a position changes during the read. */
  const readPositions = async (webhookNumbers: readonly number[]): Promise<readonly LogPosition[]> => {
    reading = webhookNumbers;
    for (const webhookNumber of webhookNumbers) unread.delete(webhookNumber);
    try {
      return await store.dispatch.positions(webhookNumbers);
    } catch (error) {
      for (const webhookNumber of webhookNumbers) unread.add(webhookNumber);
      throw error;
    }
  };

  /** The webhook stopped or is gone. If an attempt is still in progress, its outcome writes the position. */
  const close = async (webhookNumber: number): Promise<void> => {
    const log = logs.get(webhookNumber);
    if (log !== undefined && log.queues !== null) returnParked(log);
    const isUnwritten = log?.held.size === 0 && positionToWrite(log, clock(), { isLast: true }) !== null;
    if (isUnwritten) await writePosition(webhookNumber);
    logs.close(webhookNumber);
  };

  return {
    read: async () => {
      for (const webhookNumber of await store.dispatch.changed()) unread.add(webhookNumber);
      while (unread.size > 0) {
        const numbers = [...unread].slice(0, POSITIONS_AT_ONCE);
        const before = new Map(numbers.map((webhookNumber) => [webhookNumber, logs.get(webhookNumber)]));
        const positions = await readPositions(numbers);
        const found = new Map(positions.map((position) => [position.webhookNumber, position]));
        for (const [webhookNumber, known] of before) {
          const position = found.get(webhookNumber);
          // The webhook changed during the read, or written outcomes ended the log: the position may lack them.
          if (unread.has(webhookNumber) || logs.get(webhookNumber) !== known) unread.add(webhookNumber);
          else if (position === undefined) await close(webhookNumber);
          else if (logs.open(position, clock()) !== known && known !== undefined) giveBack(webhookNumber);
        }
      }
    },
    readAgain: (webhookNumber) => {
      unread.add(webhookNumber);
      wake();
    },
    forget: () => {
      for (const webhookNumber of reading) unread.add(webhookNumber);
    },
    readEnds: async () => {
      const asked = new Set(store.dispatch.appended() ?? []);
      const now = performance.now();
      if (now - endsReadAt >= ENDS_EVERY_MS || asked.size === 0) {
        endsReadAt = now;
        for (const webhookNumber of logs.nextInTurn(ENDS_PER_LOOK)) asked.add(webhookNumber);
      }
      const known = [...asked].filter((webhookNumber) => logs.get(webhookNumber) !== undefined);
      if (known.length === 0) return;
      for (const [webhookNumber, end] of await store.dispatch.ends(known)) logs.grew(webhookNumber, end);
    },
    endStopped: async () => {
      const now = performance.now();
      if (now - stoppedReadAt < pollMs || attempts.isIdle()) return;
      stoppedReadAt = now;
      await attempts.endStopped(store.dispatch.stoppedAmong);
    },
  };
}
