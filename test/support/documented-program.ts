/** Runs the programs of docs/ unchanged, each with `sallyport` and the packages that it imports in its own node_modules. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanUp } from './cleanup.ts';
import { type } from './documented-commands.ts';
import { baseEnvironment } from './environment.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Packages that the programs may import. `@types` is for the compiler. */
const PACKAGES = ['express', 'fastify', '@types'];

export type Program = { readonly folder: string; readonly file: string };

/** Writes the first TypeScript block under a heading to a file in an empty folder, where it can be run and checked. */
export function documentedProgram(folder: string, page: string, heading: string): Program {
  const [, section] = readFileSync(join(root, 'docs', page), 'utf8').split(`\n## ${heading}\n`);
  const [, code] = /```ts\n([\s\S]*?)```/.exec(section?.split('\n## ', 1)[0] ?? '') ?? [];
  assert.ok(code, `docs/${page} has no program under ${heading}`);
  const sallyport = join(folder, 'sallyport');
  mkdirSync(sallyport);
  writeFileSync(join(sallyport, 'package.json'), '{"type": "module", "exports": "./index.ts"}');
  writeFileSync(join(sallyport, 'index.ts'), `export * from ${JSON.stringify(join(root, 'src', 'sallyport.ts'))};\n`);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(sallyport, join(folder, 'node_modules', 'sallyport'));
  for (const name of PACKAGES) symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(join(folder, 'program.ts'), code);
  return { folder, file: join(folder, 'program.ts') };
}

/** The errors of the compiler for a program, with the project's settings; empty if there are none. */
export async function typeErrors({ folder }: Program): Promise<string> {
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(root, 'tsconfig.json'), include: ['program.ts'] }),
  );
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const child = spawn(process.execPath, [compiler, '-p', folder], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await new Promise((resolve) => child.once('close', resolve));
  return output;
}

export type RunningProgram = {
  readonly url: string;
  /** The standard error so far. */
  errors(): string;
  /** Sends SIGTERM and returns how the process ended. */
  end(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
};

/** Runs a program and waits until it prints `listening on port <n>`. Kills it when the test ends. */
export async function runProgram(
  t: TestContext,
  { folder, file }: Program,
  env: Readonly<Record<string, string>>,
): Promise<RunningProgram> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
    cwd: folder,
    env: { ...baseEnvironment(), PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<Awaited<ReturnType<RunningProgram['end']>>>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  );
  cleanUp(t, async () => {
    child.kill('SIGKILL');
    await exited;
  });
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
  };
}

/** Runs the shell block under a heading, line by line, in the program's folder. Returns what each command printed. */
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
