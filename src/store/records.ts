/** The records of a log with their payload. */
import type { LogRecord } from '../delivery/batch.ts';

/** Records by offset, both ends included. */
export type ReadRecords = (webhookNumber: number, first: number, last: number) => Promise<LogRecord[]>;
