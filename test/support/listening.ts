/** Runs `sallyport listen` in a separate process, and sends requests to it over TLS. They trust only its certificate. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanUp } from './cleanup.ts';
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
  /** Sends SIGTERM and returns how the process ended. */
  end(): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
};

/** Starts `sallyport listen --json` on a free port, with a new certificate folder unless one is given. */
export async function startListener(t: TestContext, args: readonly string[] = [], folder?: string): Promise<Listener> {
  const kept = folder ?? join(temporaryFolder(t), 'listen');
  const child = spawnListen(t, ['--json', '--port', '0', '--certificate-folder', kept, ...args]);
  const lines = createMailbox<string>('a line of sallyport listen');
  let stdout = '';
  let stderr = '';
  let unfinished = '';
  child.stdout.on('data', (text: string) => {
    stdout += text;
    const [last = '', ...whole] = `${unfinished}${text}`.split('\n').reverse();
    unfinished = last;
    for (const line of whole.reverse()) lines.put(line);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.once('close', () => lines.fail(`listen ended: ${stderr}`));
  const next = async (): Promise<Record<string, unknown>> => JSON.parse(await lines.take()) as Record<string, unknown>;
  const announced = (await next()) as Pick<Listener, 'url' | 'certificateFile' | 'secret' | 'apiKey'>;
  const ca = readFileSync(announced.certificateFile);
  return {
    ...announced,
    next,
    send: (request) => sendTo(announced.url, ca, request),
    end: async () => {
      const closed = once(child, 'close');
      child.kill('SIGTERM');
      const [code] = (await closed) as [number | null];
      return { code, stdout, stderr };
    },
  };
}

/** Sends a delivery. Returns the status and the text that `listen` showed. */
export async function exchange(
  listener: Listener,
  request: RawRequest,
): Promise<[status: number, shown: Record<string, unknown>]> {
  const { status } = await listener.send(request);
  return [status, await listener.next()];
}

export type ListenOptions = {
  /** Runs it in a terminal, using the program `script`. */
  readonly terminal?: boolean;
  readonly env?: Readonly<Record<string, string>>;
};

/** Starts the process, which is killed when the test ends. */
export function spawnListen(
  t: TestContext,
  args: readonly string[],
  { terminal = false, env = {} }: ListenOptions = {},
): ChildProcessByStdio<null, Readable, Readable> {
  const { HOME } = process.env;
  const command = [process.execPath, ...FLAGS, MAIN, 'listen', ...args];
  const [file = '', ...rest] = terminal ? ['script', '-qefc', command.join(' '), '/dev/null'] : command;
  const child = spawn(file, rest, {
    env: { ...baseEnvironment(), HOME, ...env },
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
