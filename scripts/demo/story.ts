/** Tells what happens, step by step: to a reader at a terminal, or as one JSON object at the end. */

export type Story = {
  /** A headline over the steps that follow. */
  chapter(title: string): void;
  /** One step. What `work` throws ends the demo: the step is told as failed, with the reason, and the error goes on. */
  step<T>(name: string, title: string, work: (tell: Tell) => Promise<T>): Promise<T>;
  /** The end: all went well, or `reason` says what did not. */
  end(reason: string | null): void;
};

/** What is told of a step. Facts are in the JSON too. */
export type Tell = {
  fact(name: string, value: Fact): void;
  line(text: string): void;
  /** Text of several lines, such as headers or JSON, under a caption. */
  block(caption: string, text: string): void;
};

type Fact = string | number | boolean | null | readonly unknown[] | Readonly<Record<string, unknown>>;

type Output = { write(text: string): unknown; readonly isTTY?: boolean };

type Outcome = {
  readonly chapter: string;
  readonly step: string;
  readonly ok: boolean;
  readonly durationMs: number;
  readonly error?: string;
  readonly facts: Readonly<Record<string, Fact>>;
};

export function terminalStory(output: Output, env: Readonly<Record<string, string | undefined>>): Story {
  const paint = output.isTTY === true && (env.NO_COLOR ?? '') === '' ? coloured : plain;
  const startedAt = performance.now();
  let number = 0;
  const print = (text = ''): unknown => output.write(`${text}\n`);
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
          fact: (name, value) =>
            void told.push(`${paint.dim(name)} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`),
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
      if (reason === null) print(paint.green(`All ${number} steps went as they should, in ${seconds} s.`));
      else print(paint.red(`Failed: ${reason}`));
    },
  };
}

export function jsonStory(output: Output): Story {
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
        const result = await work({
          fact: (name, value) => {
            facts[name] = value;
          },
          line: () => {},
          block: () => {},
        });
        outcome({ ok: true });
        return result;
      } catch (error) {
        outcome({ ok: false, error: reasonOf(error) });
        throw error;
      }
    },
    end: (error) => {
      const durationMs = Math.round(performance.now() - startedAt);
      output.write(`${JSON.stringify({ ok: error === null, error, durationMs, steps })}\n`);
    },
  };
}

/** An error in one sentence, with what caused it. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${reasonOf(error.cause)}` : error.message;
}

type Paint = Readonly<Record<'bold' | 'dim' | 'green' | 'red' | 'cyan', (text: string) => string>>;

const asIs = (text: string): string => text;
const plain: Paint = { bold: asIs, dim: asIs, green: asIs, red: asIs, cyan: asIs };
const coloured: Paint = { bold: sgr(1), dim: sgr(2), green: sgr(32), red: sgr(31), cyan: sgr(36) };

function sgr(code: number): (text: string) => string {
  return (text) => `\u001b[${code}m${text}\u001b[0m`;
}
