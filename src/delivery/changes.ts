/** Begins and ends the logs of webhooks as the store says that they start, stop and change. */
import type { LogPosition } from '../domain/batch.ts';
import type { Clock } from '../kernel/ids.ts';
import type { DispatchVerbs } from '../store/port/dispatch.ts';
import { POSITIONS_AT_ONCE } from './limits.ts';
import { returnParked } from './parked.ts';
import { positionToWrite, type WebhookLogs } from './webhook-logs.ts';

type ChangeReader = {
  /** Reads where webhooks are in their logs: those that this process begins to send for, and those that changed. One call at a time. */
  read(): Promise<void>;
  /**
   * The next `read` reads the webhook. Whoever sees it stopped or deleted calls this and does not end its log: it may have started again
   * since it was seen, and the store tells of each start once.
   */
  readAgain(webhookNumber: number): void;
};

type Options = {
  readonly store: Pick<DispatchVerbs, 'dispatch'>;
  readonly clock: Clock;
  readonly logs: WebhookLogs;
  readonly writePosition: (webhookNumber: number) => Promise<void>;
  /** Gives back the claimed jobs of the webhook that have not started. */
  readonly giveBack: (webhookNumber: number) => void;
};

export function createChangeReader({ store, clock, logs, writePosition, giveBack }: Options): ChangeReader {
  /** Webhooks whose positions are to be read. */
  const unread = new Set<number>();

  /** What changes during the read is read once more. */
  const readPositions = async (webhookNumbers: readonly number[]): Promise<readonly LogPosition[]> => {
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
          // Outcomes that were written during the read ended the log: the position may lack them.
          if (logs.get(webhookNumber) !== known) unread.add(webhookNumber);
          else if (position === undefined) await close(webhookNumber);
          else if (logs.open(position, clock()) !== known && known !== undefined) giveBack(webhookNumber);
        }
      }
    },
    readAgain: (webhookNumber) => void unread.add(webhookNumber),
  };
}
