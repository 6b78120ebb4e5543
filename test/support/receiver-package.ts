/** Installs the package `sallyport-receiver` as users do, and runs the programs of its documentation. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanUp } from './cleanup.ts';
import { baseEnvironment } from './environment.ts';
import { createMailbox } from './mailbox.ts';
import { installPacked, type Project } from './packed.ts';

export { borrow, type Project, typeErrors } from './packed.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FLAGS = ['--disable-warning=ExperimentalWarning'];

let installed: Project | null = null;

/** Returns one project for all tests of a process, because the installation takes some seconds. */
export function receiverProject(): Project {
  installed ??= installPacked('build-receiver.ts');
  return installed;
}

/** The pages with the programs of receivers. */
const PAGES = ['receive-in-javascript.md', 'decrypt-deliveries.md'];

/** The program in the first block of TypeScript or JavaScript under a heading of these pages. */
export function documentedReceiver(heading: string): string {
  const text = PAGES.map((name) => readFileSync(join(root, 'docs', 'how-to', name), 'utf8')).join('\n');
  const [, section = ''] = text.split(`\n## ${heading}\n`);
  const [, code] = /^```[tj]s\n([\s\S]*?)^```/m.exec(section.split('\n## ', 1)[0] ?? '') ?? [];
  assert.ok(code, `there is no program under ${heading}`);
  return code;
}

export type RunningReceiver = {
  readonly port: number;
  /** Waits for the next line that it prints. */
  nextLine(): Promise<string>;
};

/** Runs a program of the project that prints `listening on port <n>`. Kills it when the test ends. */
export async function runReceiver(
  t: TestContext,
  { folder }: Project,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<RunningReceiver> {
  const child = spawn(process.execPath, [...FLAGS, ...args], {
    cwd: folder,
    env: { ...baseEnvironment(), PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close');
  cleanUp(t, async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const lines = createMailbox<string>(`a line of ${args.join(' ')}`);
  let unfinished = '';
  const take = (text: string): void => {
    const whole = `${unfinished}${text}`.split('\n');
    unfinished = whole.pop() ?? '';
    for (const line of whole) lines.put(line);
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  child.once('close', () => lines.fail('the program ended'));
  const line = await lines.take();
  const [, port] = /^listening on port (\d+)$/.exec(line) ?? [];
  assert.ok(port !== undefined, line);
  return { port: Number(port), nextLine: lines.take };
}
