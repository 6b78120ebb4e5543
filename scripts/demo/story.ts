/** Reports the steps of the demo as text for a terminal, or as one JSON object at the end. */

export type Story = {
  /** A heading for the following steps. */
  chapter(title: string): void;
  /** Runs one step. If `work` throws, the step is reported as failed with the reason, and the error is rethrown. */
  step<T>(name: string, title: string, work: (tell: Tell) => Promise<T>): Promise<T>;
  /** Ends the report. `reason` is the failure, or null. */
  end(reason: string | null): void;
};

/** Reports details of a step. */
export type Tell = {
  /** Adds a value to the text and the JSON. */
  fact(name: string, value: Fact): void;
  /** Adds a value only to the JSON. */
  record(name: string, value: Fact): void;
  /** Adds a line only to the text. */
  line(text: string): void;
  /** Adds several lines with a caption only to the text, for example headers or JSON. */
  block(caption: string, text: string): void;
};

type Fact = string | number | boolean | null | readonly unknown[] | Readonly<Record<string, unknown>>;

type Write = (text: string) => unknown;

type Outcome = {
  readonly chapter: string;
  readonly step: string;
  readonly ok: boolean;
  readonly durationMs: number;
  readonly error?: string;
  readonly facts: Readonly<Record<string, Fact>>;
};

export function terminalStory(write: Write, inColour: boolean): Story {
  const paint = inColour ? coloured : plain;
  const startedAt = performance.now();
  let number = 0;
  const print = (text = ''): unknown => write(`${text}\n`);
  return {
    chapter: (title) => {
      print();
      print(paint.bold(title));
    },
    step: async (_name, title, work) => {
      number += 1;
      const since = performance.now();
      const told: string[] = [];
      const show = (mark: string): void => {
        print(
          `${String(number).padStart(3)} ${mark} ${title} ${paint.dim(`${Math.round(performance.now() - since)} ms`)}`,
        );
        for (const text of told) print(`      ${text}`);
      };
      try {
        const result = await work({
          fact: (name, value) => void told.push(`${paint.dim(`${name}:`)} ${shown(value)}`),
          record: () => {},
          line: (text) => void told.push(text),
          block: (caption, text) => {
            told.push(paint.dim(caption));
            for (const line of text.split('\n')) told.push(`  ${paint.cyan(line)}`);
          },
        });
        show(paint.green('✓'));
        return result;
      } catch (error) {
        show(paint.red('✗'));
        throw error;
      }
    },
    end: (reason) => {
      print();
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      if (reason === null) print(paint.green(`All ${number} steps passed in ${seconds} s.`));
      else print(paint.red(`Failed: ${reason}`));
    },
  };
}

export function jsonStory(write: Write): Story {
  const startedAt = performance.now();
  const steps: Outcome[] = [];
  let chapter = '';
  return {
    chapter: (title) => {
      chapter = title;
    },
    step: async (step, _title, work) => {
      const since = performance.now();
      const facts: Record<string, Fact> = {};
      const outcome = (more: { ok: boolean; error?: string }): void =>
        void steps.push({ chapter, step, ...more, durationMs: Math.round(performance.now() - since), facts });
      try {
        const record = (name: string, value: Fact): void => {
          facts[name] = value;
        };
        const result = await work({ fact: record, record, line: () => {}, block: () => {} });
        outcome({ ok: true });
        return result;
      } catch (error) {
        outcome({ ok: false, error: reasonOf(error) });
        throw error;
      }
    },
    end: (error) => {
      const durationMs = Math.round(performance.now() - startedAt);
      write(`${JSON.stringify({ ok: error === null, error, durationMs, steps })}\n`);
    },
  };
}

function shown(fact: Fact): string {
  if (Array.isArray(fact) && fact.every((item) => typeof item === 'string')) return fact.join(', ');
  return typeof fact === 'object' ? JSON.stringify(fact) : String(fact);
}

/** The messages of an error and its causes, in one sentence. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${reasonOf(error.cause)}` : error.message;
}

type Paint = Readonly<Record<'bold' | 'dim' | 'green' | 'red' | 'cyan', (text: string) => string>>;

const unchanged = (text: string): string => text;
const plain: Paint = { bold: unchanged, dim: unchanged, green: unchanged, red: unchanged, cyan: unchanged };
const coloured: Paint = { bold: sgr(1), dim: sgr(2), green: sgr(32), red: sgr(31), cyan: sgr(36) };

function sgr(code: number): (text: string) => string {
  return (text) => `\u001b[${code}m${text}\u001b[0m`;
}
