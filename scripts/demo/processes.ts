/** The two processes of the demo, the service and the customer's receiver, and their temporary folder. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Identity } from '../../src/cli/listen/self-signed.ts';
import type { Client } from './api.ts';
import type { Expectation, FromReceiver, ToReceiver } from './messages.ts';
import { receiverProgram, root, serviceProgram } from './programs.ts';

export type Stage = {
  readonly folder: string;
  /** Starts `sallyport serve` with an empty data folder. Returns the credentials that it prints once. */
  startService(settings: Readonly<Record<string, string>>): Promise<ServiceProcess>;
  startReceiver(identity: Identity): Promise<ReceiverProcess>;
  /** Kills every process and removes the folder. Safe at any time. */
  clear(): Promise<void>;
};

type ServiceProcess = Client & {
  readonly url: string;
  readonly pid: number;
  readonly adminUserName: string;
  /** Stops it with SIGTERM and returns how many milliseconds that took. Throws unless it exits with 0. */
  stop(): Promise<number>;
};

export type ReceiverProcess = {
  readonly origin: string;
  readonly pid: number;
  expect(expectation: Expectation): Promise<void>;
  /** Waits for the next message about this path, which must be of this kind. If the receiver refused a request, the error says why. */
  next<Kind extends FromReceiver['kind']>(kind: Kind, path: string): Promise<Extract<FromReceiver, { kind: Kind }>>;
};

const TIMEOUT_MS = 20_000;
export function createStage(): Stage {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-demo-'));
  const children: ChildProcess[] = [];
  // In their own process groups, so that Ctrl-C reaches only the demo, which then ends them.
  const detached = true;
  return {
    folder,
    startService: (settings) => {
      const child = spawn(process.execPath, [...serviceProgram(folder), 'serve', '--json'], {
        cwd: root,
        env: { SALLYPORT_DATA: join(folder, 'data'), SALLYPORT_PORT: '0', ...settings },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached,
      });
      children.push(child);
      return readyService(child);
    },
    startReceiver: (identity) => {
      const stdio: StdioOptions = ['ignore', 2, 2, 'ipc'];
      const child = spawn(process.execPath, receiverProgram(), { cwd: root, env: {}, stdio, detached });
      children.push(child);
      return readyReceiver(child, identity);
    },
    clear: async () => {
      for (const child of children) {
        if (!child.kill('SIGKILL')) continue;
        await new Promise((resolve) => child.once('exit', resolve));
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function readyService(child: ChildProcess): Promise<ServiceProcess> {
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-10_000);
  });
  const exited = new Promise<string>((resolve) => {
    child.once('error', ({ message }) => resolve(message));
    child.once('close', (code, signal) => resolve(String(signal ?? code)));
  });
  const printed = await within<string>('sallyport serve did not print its address', (resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\n')) resolve(text);
    });
    void exited.then((how) => reject(new Error(`sallyport serve ended (${how}): ${log}`)));
  });
  const first = JSON.parse(printed) as Client & { url: string; adminUserName: string };
  return {
    ...first,
    pid: child.pid ?? 0,
    stop: async () => {
      const since = performance.now();
      // With `child.kill`, Deno would always report that the signal ended the process.
      process.kill(child.pid ?? 0, 'SIGTERM');
      const how = await exited;
      if (how !== '0') throw new Error(`sallyport serve ended with ${how} after SIGTERM: ${log}`);
      return Math.round(performance.now() - since);
    },
  };
}

async function readyReceiver(child: ChildProcess, identity: Identity): Promise<ReceiverProcess> {
  const came: FromReceiver[] = [];
  let look: () => void = () => {};
  let gone: string | null = null;
  child.on('message', (message: FromReceiver) => {
    came.push(message);
    look();
  });
  child.once('exit', (code, signal) => {
    gone = `the receiver's process ended (${signal ?? code})`;
    look();
  });

  /** Takes the first message about the path. */
  const take = (path: string): FromReceiver | undefined => {
    const at = came.findIndex((message) => message.kind === 'serving' || message.path === path);
    return at === -1 ? undefined : came.splice(at, 1)[0];
  };
  const next: ReceiverProcess['next'] = async <Kind extends FromReceiver['kind']>(kind: Kind, path: string) => {
    const message = await within<FromReceiver>(`the receiver got no ${kind} at ${path}`, (resolve, reject) => {
      look = (): void => {
        const first = take(path);
        if (first !== undefined) resolve(first);
        else if (gone !== null) reject(new Error(gone));
        else return;
        look = () => {};
      };
      look();
    });
    if (message.kind === kind) return message as Extract<FromReceiver, { kind: Kind }>;
    const reason = message.kind === 'refused' ? `the receiver refused a request: ${message.reason}` : undefined;
    throw new Error(reason ?? `the receiver got a ${message.kind} at ${path} instead of a ${kind}`);
  };
  const send = (message: ToReceiver): void => void child.send(message);

  send({ kind: 'serve', ...identity });
  const { port } = await next('serving', '');
  return {
    // An address, because `localhost` resolves differently on each machine.
    origin: `https://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    next,
    expect: async (expectation) => {
      send({ kind: 'expect', ...expectation });
      await next('expecting', expectation.path);
    },
  };
}

/** Rejects with the reason if the wait takes too long. */
function within<T>(
  reason: string,
  wait: (resolve: (value: T) => void, reject: (error: Error) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${reason} within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
    const ended =
      <Value>(settle: (value: Value) => void) =>
      (value: Value): void => {
        clearTimeout(timer);
        settle(value);
      };
    wait(ended(resolve), ended(reject));
  });
}
