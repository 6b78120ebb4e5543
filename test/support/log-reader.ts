/** Reads the service's log as it is written, and waits for lines. */

/** A line of the log; `msg` is its message. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

/** The log line of a delivery attempt, which the service writes after it has stored the outcome. */
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
  /** Adds a chunk of the log, which may end within a line. */
  take(text: string): void;
  /** The complete log so far. */
  text(): string;
  lines(): readonly LogLine[];
  /** Resolves with the first matching line. Waits for it if the log does not contain one yet. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** Resolves with the next settled attempt of a webhook. Each attempt is returned once, in the order of settling. */
  nextAttempt(webhookId: string): Promise<LoggedAttempt>;
};

const TIMEOUT_MS = 60_000;

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
        clearTimeout(timer);
        waiting.delete(look);
        resolve(found);
      };
      const timer = setTimeout(() => {
        waiting.delete(look);
        reject(new Error(`timed out waiting for a line of the log: ${fits}\n${whole.slice(-5000)}`));
      }, TIMEOUT_MS);
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
      // Other lines are stack traces or Node's warnings.
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
