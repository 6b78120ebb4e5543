/** The shell commands of a page of the documentation, typed one after the other beside a running service. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export type DocumentedCommand = {
  /** As on the page, continuation lines joined. */
  readonly text: string;
  readonly line: number;
};

/** The commands of the `sh` blocks, and those that a transcript shows after its prompt. */
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

/** Puts what a test has where the page has a placeholder. Fails where one is left that nobody filled. */
export function filledIn(text: string, placeholders: Readonly<Record<string, string>>): string {
  const filled = Object.entries(placeholders).reduce((command, [from, to]) => command.replaceAll(from, to), text);
  const [left] = /<[a-z ]+>|sp[cst]_…|hooks\.example\.com/.exec(filled) ?? [];
  assert.equal(left, undefined, `nothing was found for ${left} in: ${text}`);
  return filled;
}

export type Typed = { readonly status: number | null; readonly stdout: string; readonly stderr: string };

type Env = Readonly<Record<string, string>>;

/** Runs a command as a shell does, with `sallyport` of this checkout on the path. */
export function type(command: string, cwd: string, env: Env): Promise<Typed> {
  return typed(command, cwd, env, false);
}

/** The same of a command that runs until it is ended: SIGTERM ends it once it has said something. */
export function typeUntilItSpeaks(command: string, cwd: string, env: Env): Promise<Typed> {
  return typed(command, cwd, env, true);
}

async function typed(command: string, cwd: string, env: Env, endOnceItSpeaks: boolean): Promise<Typed> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd,
    env: { ...process.env, PATH: `${join(root, 'scripts')}:${process.env.PATH}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (endOnceItSpeaks) child.kill('SIGTERM');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { status, stdout, stderr };
}
