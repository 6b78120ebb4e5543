/** Finds the shell commands of a documentation page and runs them. */
import assert from 'node:assert/strict';
import { type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sallyport } from './command.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export type DocumentedCommand = {
  /** As on the page, with continuation lines joined. */
  readonly text: string;
  readonly line: number;
};

/** Returns the commands in `sh` blocks and the commands after a prompt in transcripts. */
export function commandsIn(page: string): DocumentedCommand[] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  const commands: DocumentedCommand[] = [];
  let language: string | null = null;
  for (const [index, line] of lines.entries()) {
    const [, fence] = /^```(.*)$/.exec(line) ?? [];
    if (fence !== undefined) {
      language = language === null ? fence : null;
      continue;
    }
    const before = lines[index - 1] ?? '';
    const last = commands.at(-1);
    if (language === 'sh' && before.endsWith('\\') && last !== undefined) {
      commands[commands.length - 1] = { ...last, text: `${last.text.slice(0, -1)} ${line.trim()}` };
    } else if (language === 'sh' && line.trim() !== '') commands.push({ text: line, line: index + 1 });
    else if (language === '' && line.startsWith('$ ')) commands.push({ text: line.slice(2), line: index + 1 });
  }
  return commands;
}

/** Replaces the page's placeholders. Fails if one remains. */
export function filledIn(text: string, placeholders: Readonly<Record<string, string>>): string {
  const filled = Object.entries(placeholders).reduce((command, [from, to]) => command.replaceAll(from, to), text);
  const [left] = /<[a-z ]+>|sp[cst]_…|hooks\.example\.com/.exec(filled) ?? [];
  assert.equal(left, undefined, `no value for ${left} in: ${text}`);
  return filled;
}

export type Typed = { readonly status: number | null; readonly stdout: string; readonly stderr: string };

type Env = Readonly<Record<string, string>>;

/** Commands whose arguments and input bash can evaluate: `sallyport …` or `echo … | sallyport …`, without redirections. */
const PLAIN = /^(echo [^|]*\| )?sallyport (?!listen|serve)[^|<>$&;]*$/;

/**
 * Runs a command as a shell does, with `sallyport` of this checkout on the path. For plain commands bash evaluates only the quotes and the
 * pipe, and `sallyport` runs in this process, which saves starting another one.
 */
export async function type(command: string, cwd: string, env: Env): Promise<Typed> {
  if (!PLAIN.test(command)) return typed(command, cwd, env, false);
  const [words, input] = wordsOf(command, cwd);
  const before = process.cwd();
  process.chdir(cwd);
  try {
    return await sallyport(words, { env, input });
  } finally {
    process.chdir(before);
  }
}

/** The arguments of the command, and its standard input. */
function wordsOf(command: string, cwd: string): [words: string[], input: string] {
  const script = `sallyport() { printf '%s\\0' "$@" >&3; cat; }; ${command}`;
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit', 'pipe'];
  const { status, output } = spawnSync('bash', ['-euo', 'pipefail', '-c', script], { cwd, stdio, encoding: 'utf8' });
  assert.equal(status, 0, command);
  return [(output[3] ?? '').split('\0').slice(0, -1), output[1] ?? ''];
}

/** Runs a command that does not end by itself. Sends SIGTERM after its first output. */
export function typeUntilOutput(command: string, cwd: string, env: Env): Promise<Typed> {
  return typed(command, cwd, env, true);
}

async function typed(command: string, cwd: string, env: Env, endAtOutput: boolean): Promise<Typed> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd,
    env: { ...process.env, PATH: `${join(root, 'scripts')}:${process.env.PATH}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (endAtOutput) child.kill('SIGTERM');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { status, stdout, stderr };
}
