/**
 * Writes the head of the audit log to the service's log, once an hour and at a stop. Someone with access to the database can remove
 * entries from the end of the chain. A head that is kept elsewhere shows this (`sallyport audit verify --head`).
 */

import type { Log } from '../kernel/log.ts';
import { type AuditStore, headText } from '../store/port/audit.ts';
import { NO_TIME } from '../store/port/steps.ts';
import type { HousekeepingJob } from './scheduler.ts';

/** How often the head of the audit log is logged. */
const AUDIT_HEAD_EVERY_MS = 3_600_000;

type Dependencies = { readonly audit: Pick<AuditStore, 'head'>; readonly log: Log };

export async function logAuditHead({ audit, log }: Dependencies): Promise<void> {
  const head = await audit.head();
  if (head !== null) log.info({ head: headText(head) }, 'audit log head');
}

export function auditHeadJob(dependencies: Dependencies): HousekeepingJob {
  return {
    name: 'audit-head',
    everyMs: AUDIT_HEAD_EVERY_MS,
    begin: () => async () => {
      await logAuditHead(dependencies);
      return { done: true, rows: 0, took: NO_TIME };
    },
  };
}
