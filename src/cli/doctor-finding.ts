/** What the doctor finds: one line for each thing looked at. */

export type Finding = {
  /** What was looked at, in a word or two. */
  readonly check: string;
  /** A problem is wrong now; a warning will be, or may be on purpose. */
  readonly status: 'ok' | 'warning' | 'problem';
  /** What was found, and what to do about it. */
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

/** What `look` finds, or the problem that kept it from looking. */
export async function findings(check: string, look: () => Finding[] | Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [problem(check, (error as Error).message)];
  }
}

/** The same for a look that finds one thing. */
export async function finding(check: string, look: () => Finding | Promise<Finding>): Promise<Finding> {
  const [found] = await findings(check, async () => [await look()]);
  return found as Finding;
}
