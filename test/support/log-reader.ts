/** Reads the service's log as it is written, and waits for lines. */

/** A line of the log; `msg` is its message. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

/** One attempt to deliver, as the log tells of it once its outcome is written. */
export type LoggedAttempt = {
  readonly webhookId: string;
  readonly kind: 'delivery' | 'heartbeat';
  readonly firstOffset: number | null;
  readonly lastOffset: number | null;
  readonly attemptNumber: number;
  readonly responseStatus: number | null;
  readonly errorClass: string | null;
  readonly fate?: 'delivered' | 'dead' | 'discarded' | 'retry' | 'release' | 'halve';
};

export type LogReader = {
  /** Takes the next piece of the log, which need not end at a line's end. */
  take(text: string): void;
  /** All of it, as written. */
  text(): string;
  lines(): readonly LogLine[];
  /** The first line that fits, there already or still to come. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** The next settled attempt of a webhook: each one once, in the order in which they were settled. */
  nextAttempt(webhookId: string): Promise<LoggedAttempt>;
};

const PATIENCE_MS = 60_000;

export function createLogReader(): LogReader {
  const lines: LogLine[] = [];
  const waiting = new Set<() => void>();
  const read = new Map<string, number>();
  let whole = '';
  let partial = '';

  const line = (fits: (line: LogLine) => boolean, from = 0): Promise<LogLine> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = lines.slice(from).find(fits);
        if (found === undefined) return;
        clearTimeout(patience);
        waiting.delete(look);
        resolve(found);
      };
      const patience = setTimeout(() => {
        waiting.delete(look);
        reject(new Error(`the line that was waited for was not logged: ${fits}\n${whole.slice(-5000)}`));
      }, PATIENCE_MS);
      waiting.add(look);
      look();
    });

  return {
    line,
    lines: () => lines,
    text: () => whole,
    take: (text) => {
      whole += text;
      const complete = (partial + text).split('\n');
      partial = complete.pop() ?? '';
      // Other lines are stack traces of faults, or Node's warnings.
      for (const text of complete) lines.push(text.startsWith('{') ? (JSON.parse(text) as LogLine) : { msg: text });
      for (const look of [...waiting]) look();
    },
    nextAttempt: async (webhookId) => {
      const found = await line(
        (entry) => entry.msg === 'attempt' && entry.webhookId === webhookId,
        read.get(webhookId),
      );
      read.set(webhookId, lines.indexOf(found) + 1);
      return found as unknown as LoggedAttempt;
    },
  };
}
