/** When and by whom a delivery was sent again, from the audit log, and how its attempts are numbered on. */
import type { AttemptRecord } from '../domain/batch.ts';
import { failureCause } from '../domain/outcome.ts';
import type { Delivery } from '../domain/webhook.ts';
import { isObject } from '../kernel/validation.ts';
import type { AuditRecord } from '../store/port/audit.ts';
import type { Store } from '../store/port/store.ts';

/** Replays of a webhook that are read for one delivery. */
const REPLAYS_READ = 200;

/**
 * `again`: a settled delivery was sent again; `now`: a pending one was to be tried before its time, which was `dueAt` unless it waited for
 * its turn. `actor`: null if the audit log has none.
 */
export type Resend = {
  readonly at: number;
  readonly actor: string | null;
  readonly kind: 'again' | 'now';
  readonly dueAt?: number | null;
};

export type NumberedAttempt = AttemptRecord & {
  /** Counts on after the delivery was sent again; `attemptNumber` begins at 1 then. */
  readonly number: number;
};

/** The entries about a delivery, oldest first: its own, and those of its webhook about many records. */
export async function replayEntries({ audit }: Pick<Store, 'audit'>, delivery: Delivery): Promise<AuditRecord[]> {
  const { id, webhookId, createdAt: since } = delivery;
  const asked = { exactAction: 'delivery.replay', exactTarget: `delivery:${id}`, since };
  const ofMany = { exactAction: 'webhook.replay', exactTarget: `webhook:${webhookId}`, since };
  const [own, many] = await Promise.all([
    audit.list(null, REPLAYS_READ, asked),
    audit.list(null, REPLAYS_READ, ofMany),
  ]);
  return [...own, ...many].sort((a, b) => a.number - b.number);
}

type Tried = Pick<AttemptRecord, 'startedAt' | 'attemptNumber' | 'errorClass' | 'responseStatus'>;

/** Oldest first. `attempts` are those of the delivery, oldest first. */
export function resendsOf(
  delivery: Pick<Delivery, 'id' | 'offset' | 'createdAt' | 'attemptCount'>,
  attempts: readonly Tried[],
  entries: readonly AuditRecord[],
): Resend[] {
  const known: Resend[] = [];
  for (const { at, actor, action, changes } of entries) {
    if (action === 'delivery.replay') known.push(ownResend(at, actor, changes.nextAttemptAt));
    else if (!isQueued(known, attempts, at) && isAmong(delivery, attempts, at, changes.records?.to))
      known.push({ at, actor, kind: 'again' });
  }
  // Without an entry, for example in a restored database, a lower number than before still shows a replay.
  const unknown = attempts.flatMap(({ startedAt, attemptNumber }, index): Resend[] => {
    const before = attempts[index - 1];
    const isRestart = before !== undefined && attemptNumber < before.attemptNumber;
    const isKnown = known.some(
      ({ at, kind }) => kind === 'again' && at <= startedAt && at >= (before?.startedAt ?? startedAt),
    );
    return isRestart && !isKnown ? [{ at: startedAt, actor: null, kind: 'again' }] : [];
  });
  return [...known, ...unknown].sort((a, b) => a.at - b.at);
}

function ownResend(at: number, actor: string | null, changed: AuditRecord['changes'][string] | undefined): Resend {
  if (changed === undefined) return { at, actor, kind: 'again' };
  const { from } = changed;
  return { at, actor, kind: 'now', dueAt: typeof from === 'string' ? Date.parse(from) : null };
}

/** Whether the delivery was sent again before, and not tried since: then it was pending, and a replay of many records passed over it. */
function isQueued(known: readonly Resend[], attempts: readonly Tried[], at: number): boolean {
  const last = known.findLast(({ kind }) => kind === 'again');
  return last !== undefined && !attempts.some(({ startedAt }) => startedAt >= last.at && startedAt < at);
}

/** Whether a replay of many records at this time included the delivery: in the range, in a state that was asked for, and started again. */
function isAmong(
  { offset, createdAt, attemptCount }: Pick<Delivery, 'offset' | 'createdAt' | 'attemptCount'>,
  attempts: readonly Tried[],
  at: number,
  records: unknown,
): boolean {
  if (!isObject(records)) return false;
  const next = attempts.find(({ startedAt }) => startedAt >= at);
  const before = attempts.findLast(({ startedAt }) => startedAt < at);
  if (before === undefined || (next?.attemptNumber ?? Math.max(attemptCount, 1)) !== 1) return false;
  const { firstOffset, lastOffset, since, until, states, cause } = records;
  if (typeof firstOffset === 'number' && typeof lastOffset === 'number')
    return offset >= firstOffset && offset <= lastOffset;
  if (typeof since === 'string' && createdAt < Date.parse(since)) return false;
  if (typeof until === 'string' && createdAt >= Date.parse(until)) return false;
  const { errorClass, responseStatus } = before;
  const wasIn = errorClass === null ? 'delivered' : 'dead';
  if (Array.isArray(states) && !states.includes(wasIn)) return false;
  return cause === undefined || cause === failureCause(errorClass, responseStatus);
}

/** Numbers the attempts on. `base`: the number of the last attempt before the delivery was last sent again; 0 if it never was. */
export function numbered(
  attempts: readonly AttemptRecord[],
  resends: readonly Resend[],
): { readonly attempts: readonly NumberedAttempt[]; readonly base: number } {
  const again = resends.filter(({ kind }) => kind === 'again').map(({ at }) => at);
  const made: NumberedAttempt[] = [];
  let [base, last, begun] = [0, 0, Number.NEGATIVE_INFINITY];
  const restartedBefore = (at: number): boolean => again.some((one) => one >= begun && one <= at);
  for (const attempt of attempts) {
    if (last > 0 && restartedBefore(attempt.startedAt)) base = last;
    last = base + attempt.attemptNumber;
    begun = attempt.startedAt + 1;
    made.push({ ...attempt, number: last });
  }
  return { attempts: made, base: last > 0 && restartedBefore(Number.POSITIVE_INFINITY) ? last : base };
}
