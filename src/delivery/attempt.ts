/** One attempt as it is stored. */
import type { Timings } from '../outbound/outcome.ts';

export type AttemptKind = 'delivery' | 'heartbeat' | 'test';

export type AttemptRecord = {
  readonly id: string;
  readonly webhookNumber: number;
  readonly kind: AttemptKind;
  readonly batchId: string | null;
  readonly firstOffset: number | null;
  readonly lastOffset: number | null;
  readonly attemptNumber: number;
  readonly startedAt: number;
  /** As sent, secrets masked. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly responseStatus: number | null;
  readonly responseHeaders: Readonly<Record<string, string>> | null;
  readonly responseBody: Uint8Array | null;
  /** Null: delivered. */
  readonly errorClass: string | null;
  readonly errorMessage: string | null;
  readonly timings: Timings;
};
