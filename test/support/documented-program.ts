/** Runs programs of docs/examples, and the commands that the pages about them show. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type } from './documented-commands.ts';
import { baseEnvironment } from './environment.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export type RunningProgram = {
  readonly url: string;
  /** The output on standard error so far. */
  errors(): string;
  /** Sends SIGTERM and returns how the process ended. */
  end(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  kill(): Promise<void>;
};

/** Runs a program of docs/examples in a folder, and waits until it prints `listening on port <n>`. */
export async function runProgram(
  name: string,
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<RunningProgram> {
  const file = join(root, 'docs', 'examples', name);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
    cwd: folder,
    env: { ...baseEnvironment(), PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<Awaited<ReturnType<RunningProgram['end']>>>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  );
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const port = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const [, announced] = /listening on port (\d+)\n/.exec(output) ?? [];
      if (announced !== undefined) resolve(announced);
    });
    void exited.then(({ code, signal }) => reject(new Error(`the program ended (${signal ?? code}): ${errors}`)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    errors: () => errors,
    end: () => {
      child.kill('SIGTERM');
      return exited;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Runs the shell block under a heading line by line in the folder. Returns what each command printed. */
export async function runDocumentedCommands(folder: string, page: string, heading: string): Promise<string[]> {
  const [, section] = readFileSync(join(root, 'docs', page), 'utf8').split(`\n## ${heading}\n`);
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(section ?? '') ?? [];
  const lines = block.trim().split('\n');
  const settings = lines.flatMap((line) => /^export (.*)$/.exec(line)?.[1]?.split(' ') ?? []);
  const env = Object.fromEntries(settings.map((setting) => setting.split('=', 2)));
  const commands = lines.filter((line) => !line.startsWith('export '));
  assert.ok(commands.length > 0, `docs/${page} has no commands under ${heading}`);
  const outputs: string[] = [];
  for (const command of commands) {
    const { status, stdout, stderr } = await type(command.replace(/^npx /, ''), folder, env);
    assert.equal(status, 0, `${command}: ${stderr}`);
    outputs.push(stdout);
  }
  return outputs;
}
