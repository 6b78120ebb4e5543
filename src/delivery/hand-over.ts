/** The webhooks that this instance is giving back, so that other instances take them. */
import type { Log } from '../kernel/log.ts';

export type HandOver = {
  /** Ends work on these webhooks. */
  begin(webhookNumbers: readonly number[]): void;
  /** Nothing more of it may be claimed here. */
  isLeaving(webhookNumber: number): boolean;
  /** Some work on the webhook has ended. If none is left, it is given back. */
  workEnded(webhookNumber: number): void;
};

export function createHandOver({
  isBusy,
  giveBack,
  leave,
  log,
}: {
  /** Whether anything of the webhook is claimed or being claimed. */
  readonly isBusy: (webhookNumber: number) => boolean;
  /** Gives back the claimed jobs of the webhook that have not started. */
  readonly giveBack: (webhookNumber: number) => void;
  /** Lets others take the webhook. */
  readonly leave: (webhookNumber: number) => Promise<void>;
  readonly log: Log;
}): HandOver {
  const leaving = new Set<number>();
  /** Those of them that are given back now. */
  const left = new Set<number>();
  const workEnded = (webhookNumber: number): void => {
    if (!leaving.has(webhookNumber)) return;
    giveBack(webhookNumber);
    if (isBusy(webhookNumber)) return;
    if (left.has(webhookNumber)) return;
    left.add(webhookNumber);
    leave(webhookNumber)
      // It stays with this instance, and the next renewal tries again.
      .catch((err: unknown) => log.warn({ webhookNumber, err }, 'a webhook could not be given back'))
      .finally(() => {
        leaving.delete(webhookNumber);
        left.delete(webhookNumber);
      });
  };
  return {
    begin: (webhookNumbers) => {
      for (const webhookNumber of webhookNumbers) {
        if (leaving.has(webhookNumber)) continue;
        leaving.add(webhookNumber);
        workEnded(webhookNumber);
      }
    },
    isLeaving: (webhookNumber) => leaving.has(webhookNumber),
    workEnded,
  };
}
