/** Runs `sallyport listen`, and sends requests to it over TLS. They trust only its certificate. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run } from '../../src/cli/run.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { cleanUp } from './cleanup.ts';
import { terminalHere } from './command.ts';
import { baseEnvironment } from './environment.ts';
import { createMailbox } from './mailbox.ts';
import { temporaryFolder } from './service.ts';
import type { RawRequest } from './signed-request.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** The program `script` runs this command line unchanged. */
const FLAGS = 'deno' in process.versions ? ['run', '--allow-all'] : ['--disable-warning=ExperimentalWarning'];

export type Listener = {
  readonly url: string;
  readonly certificateFile: string;
  /** The given secret, or a generated one. */
  readonly secret: string;
  readonly apiKey: string;
  /** Waits for the next object that it prints. */
  next(): Promise<Record<string, unknown>>;
  /** The status and text of the response. Rejects without one. */
  send(
    request: RawRequest,
  ): Promise<{ readonly status: number; readonly text: string; readonly answer: string | null }>;
  /** Asks it to end, a process with SIGTERM, and returns how it ended. */
  end(): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
};

/** Starts `sallyport listen --json` in this process on a free port, with a new certificate folder unless one is given. */
export function startListener(t: TestContext, args: readonly string[] = [], folder?: string): Promise<Listener> {
  return startWith(listenHere, t, args, folder);
}

/** The same in a separate process. */
export function startListenerProcess(t: TestContext, args: readonly string[] = []): Promise<Listener> {
  return startWith(listenInOtherProcess, t, args);
}

async function startWith(
  start: typeof listenHere,
  t: TestContext,
  args: readonly string[],
  folder = join(temporaryFolder(t), 'listen'),
): Promise<Listener> {
  const lines = createMailbox<string>('a line of sallyport listen');
  let stdout = '';
  let unfinished = '';
  const running = start(t, ['--json', '--port', '0', '--certificate-folder', folder, ...args], (text) => {
    stdout += text;
    const [last = '', ...whole] = `${unfinished}${text}`.split('\n').reverse();
    unfinished = last;
    for (const line of whole.reverse()) lines.put(line);
  });
  void running.ended.then(() => lines.fail(`listen ended: ${running.stderr()}`));
  const next = async (): Promise<Record<string, unknown>> => JSON.parse(await lines.take()) as Record<string, unknown>;
  const announced = (await next()) as Pick<Listener, 'url' | 'certificateFile' | 'secret' | 'apiKey'>;
  const ca = readFileSync(announced.certificateFile);
  return {
    ...announced,
    next,
    send: (request) => sendTo(announced.url, ca, request),
    end: async () => {
      running.end();
      return { code: await running.ended, stdout, stderr: running.stderr() };
    },
  };
}

type Running = {
  /** Resolves with its exit status. */
  readonly ended: Promise<number | null>;
  stderr(): string;
  end(): void;
};

/** `take` gets the output. It ends when the test does. `terminal` is what the command gets in place of a terminal. */
export function listenHere(
  t: TestContext,
  args: readonly string[],
  take: (text: string) => void,
  terminal: Terminal = terminalHere(),
): Running {
  const { promise: asked, resolve: end } = Promise.withResolvers<void>();
  let stderr = '';
  const ended = run(['listen', ...args], {
    ...terminal,
    out: async (text) => {
      take(text);
      return true;
    },
    err: async (text) => {
      stderr += text;
      return true;
    },
    firstSignal: () => asked,
  });
  cleanUp(t, () => {
    end();
    return ended;
  });
  return { ended, stderr: () => stderr, end };
}

function listenInOtherProcess(t: TestContext, args: readonly string[], take: (text: string) => void): Running {
  const child = spawnListen(t, args);
  let stderr = '';
  child.stdout.on('data', take);
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { ended, stderr: () => stderr, end: () => void child.kill('SIGTERM') };
}

/** Sends a delivery. Returns the status and the text that `listen` showed. */
export async function exchange(
  listener: Listener,
  request: RawRequest,
): Promise<[status: number, shown: Record<string, unknown>]> {
  const { status } = await listener.send(request);
  return [status, await listener.next()];
}

/** Starts the process, which is killed when the test ends. `terminal`: in one that the program `script` makes. */
export function spawnListen(
  t: TestContext,
  args: readonly string[],
  { terminal = false }: { readonly terminal?: boolean } = {},
): ChildProcessByStdio<null, Readable, Readable> {
  const { HOME } = process.env;
  const command = [process.execPath, ...FLAGS, MAIN, 'listen', ...args];
  const [file = '', ...rest] = terminal ? ['script', '-qefc', command.join(' '), '/dev/null'] : command;
  const child = spawn(file, rest, {
    env: { ...baseEnvironment(), HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A separate process group, so that killing it also ends the child of `script`.
    detached: true,
  });
  const exited = once(child, 'close');
  cleanUp(t, async () => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await exited;
  });
  child.stdout.setEncoding('utf8');
  return child;
}

/** Sends a request to a listener whose certificate is `ca`. */
export function sendTo(
  url: string,
  ca: Buffer,
  { method, path, headers, body }: RawRequest,
): ReturnType<Listener['send']> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(url);
    const request = httpsRequest({
      host: 'localhost',
      port,
      ca,
      method,
      path,
      headers: Object.fromEntries(headers),
      agent: false,
    });
    request.on('error', reject);
    request.on('response', async (response) => {
      const text = Buffer.concat(await response.toArray()).toString();
      const answer = response.headers['x-challenge-sha256'];
      resolve({ status: response.statusCode ?? 0, text, answer: typeof answer === 'string' ? answer : null });
    });
    request.end(body);
  });
}
