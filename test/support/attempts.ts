/** Builds outcomes, batches and the health of webhooks as input for the pure rules of delivery. */

import type { Batch, Health } from '../../src/domain/batch.ts';
import { type ErrorClass, failure, NO_TIMINGS, type Outcome } from '../../src/domain/outcome.ts';
import type { Progress } from '../../src/domain/webhook.ts';
import { NOW } from './store.ts';

/** Every error class except `http_status`. */
export const ERROR_CLASSES: readonly Exclude<ErrorClass, 'http_status'>[] = [
  'dns',
  'connect',
  'tls_untrusted',
  'tls_expired',
  'tls_wrong_host',
  'tls',
  'timeout',
  'egress_refused',
  'reset',
  'response_too_large',
  'malformed_response',
  'proxy',
  'oauth_token',
  'encryption',
  'internal',
];

export function answered(status: number, headers: Readonly<Record<string, string>> = {}): Outcome {
  const answer = { status, headers, body: new Uint8Array(), truncated: false };
  if (status >= 200 && status < 300) return { ok: true, answer, timings: NO_TIMINGS };
  return failure('http_status', `the receiver answered ${status}`, { answer });
}

export function batchOf(firstOffset: number, lastOffset: number, more: Partial<Batch> = {}): Batch {
  const id = `batch ${firstOffset}`;
  const tried = { attemptNumber: 1, contentRefusals: 0, isStored: false };
  return { webhookNumber: 1, id, firstOffset, lastOffset, bytes: 2000, ...tried, ...more };
}

export const HEALTHY: Health = {
  stateReason: null,
  stateDetail: null,
  sentAt: null,
  failingSinceAt: null,
  failureStreak: 0,
  probeAt: null,
  deadStreak: 0,
};

export function progressOf(more: Partial<Progress> = {}): Progress {
  return {
    ...HEALTHY,
    webhookNumber: 1,
    state: 'running',
    stateAt: NOW,
    sessionId: 'session',
    sessionAt: NOW,
    nextOffset: 0,
    cursorOffset: 0,
    ...more,
  };
}
