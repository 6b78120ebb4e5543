/** A program of peers/ that processes a queue on command (peers/commands.mjs). */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { startNode } from './processes.ts';

export type QueueWorker = {
  readonly pid: number;
  queue(records: number): Promise<void>;
  /** Milliseconds until so many records are delivered, and their being so is written. */
  drain(records: number): Promise<number>;
  stop(): Promise<void>;
};

export async function startWorker(program: string, settings: unknown): Promise<QueueWorker> {
  const file = fileURLToPath(new URL(`../peers/${program}`, import.meta.url));
  const running = startNode(file, [JSON.stringify(settings)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const { stdin, stdout } = running.child;
  const lines = createInterface({ input: stdout as Readable });
  const ended = running.exited.then((how) => Promise.reject(new Error(`${program} ended (${how})`)));
  ended.catch(() => {});
  const answer = async (): Promise<Record<string, number>> => {
    const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string];
    return JSON.parse(line) as Record<string, number>;
  };
  const ask = (command: unknown): Promise<Record<string, number>> => {
    const answered = answer();
    (stdin as Writable).write(`${JSON.stringify(command)}\n`);
    return answered;
  };
  await answer();
  return {
    pid: running.pid,
    queue: async (records) => void (await ask({ queue: records })),
    drain: async (records) => (await ask({ drain: records })).ms ?? Number.NaN,
    stop: () => running.stop(),
  };
}
