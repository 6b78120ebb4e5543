/** Runs the service in a separate process under `strace`, which records its writes and syncs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FirstCredentials } from '../../src/data/data.ts';
import { cleanUp } from './cleanup.ts';
import { type ApiClient, createClient, isWholeService, tokenFor } from './client.ts';
import { baseEnvironment } from './environment.ts';
import { temporaryFolder } from './service.ts';
import { readTrace, type SystemCall } from './strace.ts';

export type TracedService = {
  readonly url: string;
  readonly credentials: FirstCredentials;
  /** A client with every administration scope. */
  readonly admin: ApiClient;
  /** Stops the service and reads its system calls. */
  calls(): Promise<SystemCall[]>;
};

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const CALLS = 'fsync,fdatasync,write,writev,sendto,sendmsg,pwrite64,pwritev,pwritev2';

/** Starts the service with default settings, except for the data folder and a free port. */
export async function traceService(t: TestContext): Promise<TracedService> {
  const folder = temporaryFolder(t);
  const trace = join(folder, 'trace');
  const how = ['-D', '-f', '-xx', '-yy', '-s', '65536', '--seccomp-bpf', '-e', `trace=${CALLS}`, '-o', trace];
  const serve = ['--disable-warning=ExperimentalWarning', MAIN, 'serve', '--json', '--port', '0'];
  // With -D the child process is the service, and strace is its descendant.
  const child = spawn('strace', [...how, '--', process.execPath, ...serve, '--data', join(folder, 'data')], {
    env: baseEnvironment(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  cleanUp(t, async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const announced = await firstLine(child.stdout.setEncoding('utf8'), exited);
  const credentials = JSON.parse(announced) as FirstCredentials & { readonly url: string };
  const { url } = credentials;
  isWholeService(t, url);
  return {
    url,
    credentials,
    admin: createClient(url, await tokenFor(url, credentials)),
    calls: async () => {
      const { pid = 0 } = child;
      child.kill('SIGTERM');
      const [status] = await exited;
      if (status !== 0) throw new Error(`the service ended with ${status}`);
      return readTrace(await wholeTrace(trace, pid));
    },
  };
}

async function firstLine(stdout: AsyncIterable<string>, exited: Promise<[number | null]>): Promise<string> {
  const read = async (): Promise<string> => {
    let text = '';
    for await (const chunk of stdout) {
      text += chunk;
      if (text.includes('\n')) return text.slice(0, text.indexOf('\n'));
    }
    throw new Error('the service ended without output');
  };
  const ended = exited.then(([status]) => Promise.reject(new Error(`serve ended with ${status}`)));
  ended.catch(() => {});
  return Promise.race([read(), ended]);
}

/** Waits for the complete trace. strace continues to write after the process has ended; the last line contains the exit status. */
async function wholeTrace(file: string, pid: number): Promise<string> {
  for (;;) {
    const text = readFileSync(file, 'utf8');
    if (new RegExp(`^${pid} +\\+\\+\\+ exited with`, 'm').test(text)) return text;
    await pause(20);
  }
}
