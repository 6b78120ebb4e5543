/**
 * The commands of the benchmark to a program of this folder, one JSON object a line on standard input, each answered by one on standard
 * output: `{"queue": n}` puts n records into the queue, `{"drain": n}` works until n of them are done and says how long that took.
 */
import { createInterface } from 'node:readline';

export async function serve({ queue, drain }) {
  const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
  say({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    if (command.queue !== undefined) {
      await queue(command.queue);
      say({ queued: command.queue });
    } else {
      const startedAt = performance.now();
      await drain(command.drain);
      say({ ms: performance.now() - startedAt });
    }
  }
  process.exit(0);
}

/** Does the work so many times, with so many workers at the same time. */
export async function repeat(times, workers, work) {
  let left = times;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

/** Resolves when it was told of the last one. */
export function countdown() {
  let left = 0;
  let resolve = () => {};
  return {
    done: (count = 1) => {
      left -= count;
      if (left === 0) resolve();
    },
    wait: (count) => {
      left += count;
      return new Promise((end) => {
        resolve = end;
        if (left <= 0) end();
      });
    },
  };
}
