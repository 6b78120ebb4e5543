/** The results of the checks of `sallyport doctor`. */
import { EXPIRY_WARNING_MS } from '../../domain/limits.ts';
import { DatabaseUnavailable } from '../../store/port/errors.ts';

export type Finding = {
  /** The subject of the check, in a word or two. */
  readonly check: string;
  /** A problem is wrong now. A warning will become wrong, or may be intended. */
  readonly status: 'ok' | 'warning' | 'problem';
  /** The result, and how to fix it. */
  readonly detail: string;
};

export function ok(check: string, detail: string): Finding {
  return { check, status: 'ok', detail };
}

export function warning(check: string, detail: string): Finding {
  return { check, status: 'warning', detail };
}

export function problem(check: string, detail: string): Finding {
  return { check, status: 'problem', detail };
}

/** The findings of a check, or a problem if it throws. */
export async function findings(check: string, look: () => Finding[] | Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    const { message, cause } = error as Error;
    return [problem(check, error instanceof DatabaseUnavailable && cause instanceof Error ? cause.message : message)];
  }
}

/** Like `findings`, for a check with one result. */
export async function finding(check: string, look: () => Finding | Promise<Finding>): Promise<Finding> {
  const [found] = await findings(check, async () => [await look()]);
  return found as Finding;
}

/** The finding for anything that expires and is in use. */
export function judgeExpiry(check: string, what: string, expiresAt: number, now: number): Finding {
  const day = new Date(expiresAt).toISOString().slice(0, 10);
  if (expiresAt <= now) return problem(check, `${what} expired on ${day}`);
  return expiresAt - now < EXPIRY_WARNING_MS
    ? warning(check, `${what} expires on ${day}`)
    : ok(check, `${what} is valid until ${day}`);
}
