/** Warns 30, 7 and 1 days before a PGP key or a client certificate expires (contract §5.11), in the log and with an event. */

import { makeEvent, OPERATOR_ONLY } from '../domain/event.ts';
import { EXPIRY_LOOK_EVERY_MS, EXPIRY_WARNING_DAYS } from '../domain/limits.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { isoInstant } from '../kernel/schemas.ts';
import { StaleWrite } from '../store/port/errors.ts';
import type { Expiring, ExpiryStore } from '../store/port/housekeeping.ts';
import { NO_TIME } from '../store/port/steps.ts';
import type { HousekeepingJob } from './scheduler.ts';

type Dependencies = {
  readonly expiry: ExpiryStore;
  readonly ids: Ids;
  readonly log: Log;
  /** Notifies the dispatcher that there may be work. */
  readonly wake: () => void;
};

const DAY_MS = 86_400_000;

/** Warns once for each threshold. Of thresholds that passed while the service was off, only the last one gets a warning. */
export function expiryWarningsJob({ expiry, ids, log, wake }: Dependencies): HousekeepingJob {
  return {
    name: 'expiry-warnings',
    everyMs: EXPIRY_LOOK_EVERY_MS,
    begin: (now) => async () => {
      const expiring = await expiry.next(now, EXPIRY_WARNING_DAYS);
      if (expiring === null) return { done: true, rows: 0, took: NO_TIME };
      const leftDays = (expiring.expiresAt - now) / DAY_MS;
      const threshold = Math.min(...EXPIRY_WARNING_DAYS.filter((days) => leftDays <= days));
      const warning = {
        ...subjectOf(expiring),
        expiresAt: isoInstant(expiring.expiresAt),
        daysLeft: Math.ceil(leftDays),
      };
      const event = makeEvent(
        {
          type: 'webhook.key_expiring',
          audience: expiring.customerId ?? OPERATOR_ONLY,
          data: { ...warning, webhookIds: expiring.webhookIds },
        },
        { ids, now },
      );
      try {
        await expiry.warn(expiring, threshold, event);
      } catch (error) {
        // The key or endpoint was changed at the same time. The next step reads it again.
        if (error instanceof StaleWrite) return { done: false, rows: 0, took: NO_TIME };
        throw error;
      }
      log.warn({ ...warning, webhooks: expiring.webhookIds.length }, SENTENCES[expiring.kind]);
      wake();
      return { done: false, rows: 1, took: NO_TIME };
    },
  };
}

const SENTENCES: Readonly<Record<Expiring['kind'], string>> = {
  key: 'a PGP key expires soon',
  certificate: 'a client certificate expires soon',
};

function subjectOf({ kind, id, name }: Expiring): Readonly<Record<string, string>> {
  return kind === 'key' ? { keyId: id, keyName: name } : { endpointId: id, endpointName: name };
}
