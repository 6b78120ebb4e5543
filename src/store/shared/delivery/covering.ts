/** Conditions that find the batch and the attempts of a record. */

import { BATCH_RECORDS_MAX } from '../../../domain/limits.ts';

/** The batch `b` of a record: the last one that begins at or before it, if it reaches that far. */
export function isBatchOf(webhook: string, offset: string): string {
  return `b.webhook_number = ${webhook} AND b.last_offset >= ${offset} AND b.first_offset =
    (SELECT max(first_offset) FROM batch WHERE webhook_number = ${webhook} AND first_offset <= ${offset})`;
}

/**
 * The attempts `a` that carried a record of a stretch of the log of their webhook. Each begins less than BATCH_RECORDS_MAX before the
 * stretch. Index: attempt_record.
 */
export function isAttemptOf(first: string, last: string = first): string {
  return `a.first_offset > ${first} - ${BATCH_RECORDS_MAX} AND a.first_offset <= ${last} AND a.last_offset >= ${first}`;
}
