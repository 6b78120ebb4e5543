/** Gives webhooks back to the other instances. */
import type { Log } from '../kernel/log.ts';
import type { Membership } from './membership.ts';

/** The webhooks that this instance is giving back. */
export type HandOver = {
  /** Ends work on these webhooks. */
  begin(webhookNumbers: readonly number[]): void;
  /** Nothing more of it may be claimed here. */
  isLeaving(webhookNumber: number): boolean;
  /** Some work on the webhook has ended. If none is left, it is given back. */
  workEnded(webhookNumber: number): void;
};

export function createHandOver({
  membership,
  isBusy,
  withdraw,
  log,
}: {
  readonly membership: Membership | null;
  /** Whether anything of the webhook is claimed or being claimed. */
  readonly isBusy: (webhookNumber: number) => boolean;
  /** Releases the claimed jobs of the webhook that have not started. */
  readonly withdraw: (webhookNumber: number) => void;
  readonly log: Log;
}): HandOver {
  const leaving = new Set<number>();
  const workEnded = (webhookNumber: number): void => {
    if (!leaving.has(webhookNumber)) return;
    withdraw(webhookNumber);
    if (isBusy(webhookNumber)) return;
    membership
      ?.handedOver(webhookNumber)
      // It stays with this instance, and the next renewal tries again.
      .catch((err: unknown) => log.warn({ webhookNumber, err }, 'a webhook could not be given back'))
      .finally(() => leaving.delete(webhookNumber));
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
