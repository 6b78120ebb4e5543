/** Runs the programs of docs/receivers as users do, from the published file. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanUp } from './cleanup.ts';
import { freePort } from './free-port.ts';
import { createMailbox } from './mailbox.ts';
import { onPath } from './on-path.ts';
import type { HandedRecord } from './vectors.ts';

export type Command = readonly [program: string, ...args: string[]];

/** Port 0 means any free port. */
export type ReadyProgram = {
  command(port: number): Command;
  /** The same program with a fixed clock. */
  commandAt(port: number, epochSeconds: number): Command;
};

export type ReceiverProgram = {
  readonly language: string;
  /** The required programs, and their Debian packages. */
  readonly needs: Readonly<Record<string, string>>;
  /** Compiles the program in an empty folder, if it needs that. */
  prepare(folder: string): ReadyProgram;
  /** Whether it serves TLS itself. Otherwise a proxy in front of it must terminate TLS. */
  readonly servesTls: boolean;
  /** Whether its server passes on the headers of a request before the body arrives. */
  readonly readsHeadersFirst: boolean;
  /** Its server keeps only one value of a repeated header and does not report it. */
  readonly dropsRepeated?: true;
  /** The text that it prints once it listens. If set, the program needs a port as argument. */
  readonly listening?: RegExp;
  /** Environment variables in addition to those of all programs. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The program reads its settings with each request, so it starts even if they are missing. */
  readonly beginsUnset?: true;
  /** Additional TLS settings, made from a folder with `certificate.pem` and `privateKey.pem`. */
  readonly tlsSettings?: (folder: string) => Readonly<Record<string, string>>;
};

export type RunningProgram = {
  readonly port: number;
  /** Waits for the next record that its handler receives. */
  nextRecord(): Promise<HandedRecord>;
  /** Ends the program and returns all records that its handler received. */
  end(): Promise<readonly HandedRecord[]>;
  /** Its output so far. */
  log(): string;
};

/** A file of docs/receivers. */
export function receiverFile(name: string): string {
  return fileURLToPath(new URL(`../../docs/receivers/${name}`, import.meta.url));
}

/** The programs of a receiver that are not installed here. */
export function missingOf(needs: ReceiverProgram['needs']): readonly string[] {
  return Object.keys(needs).filter((name) => onPath(name) === null);
}

const TRIES = 5;

/** Runs a program until the test ends. Its settings are the environment. */
export async function startProgram(
  t: TestContext,
  program: ReceiverProgram,
  command: (port: number) => Command,
  settings: Readonly<Record<string, string>>,
): Promise<RunningProgram> {
  for (let left = TRIES; ; left -= 1) {
    const wanted = program.listening === undefined ? 0 : await freePort();
    const running = run(t, program, command(wanted), { PORT: String(wanted), ...settings });
    const port = await running.listening;
    if (port !== null) return { ...running, port: port || wanted };
    // Another process may have taken the free port before the program listens on it.
    if (left === 1 || !/address already in use/i.test(running.log())) {
      throw new Error(`the receiver in ${program.language} ended:\n${running.log()}`);
    }
  }
}

/** `listening` resolves with the port that the program prints, with 0 if it prints none, or with null if the program ends first. */
function run(
  t: TestContext,
  { language, settings, listening: pattern = /^listening on port (\d+)$/ }: ReceiverProgram,
  [name, ...args]: Command,
  env: Readonly<Record<string, string>>,
): Omit<RunningProgram, 'port'> & { readonly listening: Promise<number | null> } {
  const child = spawn(name, args, {
    env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', ...settings, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close');
  cleanUp(t, async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const handed: HandedRecord[] = [];
  const records = createMailbox<HandedRecord>(`a record from the receiver in ${language}`);
  let log = '';
  const listening = new Promise<number | null>((resolve, reject) => {
    const take = (line: string): void => {
      log += `${line}\n`;
      const found = pattern.exec(line);
      if (found !== null) resolve(Number(found[1] ?? 0));
      const [, messageId, eventType = '', json = ''] = HANDED.exec(line) ?? [];
      if (messageId === undefined) return;
      const record = { messageId, eventType, data: JSON.parse(json) as unknown };
      handed.push(record);
      records.put(record);
    };
    for (const stream of [child.stdout, child.stderr]) byLine(stream.setEncoding('utf8'), take);
    exited.then(() => resolve(null), reject);
  });
  return {
    listening,
    nextRecord: records.take,
    log: () => log,
    end: async () => {
      child.kill('SIGTERM');
      await exited;
      return handed;
    },
  };
}

/** Runs a program that must refuse to start. Returns its output. */
export async function outputOf(
  [program, ...args]: Command,
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  const { PATH } = process.env;
  const child = spawn(program, args, { env: { PATH, ...settings }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  assert.notEqual(code, 0, output);
  return output;
}

/** Makes a GnuPG home folder with these private keys. Its agent is stopped when the test ends. */
export function gnupgWith(t: TestContext, privateKeys: readonly string[]): string {
  // A short path, because the path of the agent's socket has a length limit.
  const home = mkdtempSync(join(tmpdir(), 'gpg-'));
  cleanUp(t, () => {
    execFileSync('gpgconf', ['--homedir', home, '--kill', 'gpg-agent']);
    rmSync(home, { recursive: true, force: true });
  });
  const importing = ['--homedir', home, '--batch', '--quiet', '--import'];
  for (const input of privateKeys) execFileSync('gpg', importing, { input, stdio: ['pipe', 'pipe', 'pipe'] });
  return home;
}

/** The line that `handle()` of each program prints. PHP's log puts the time before it. */
const HANDED = /^(?:\[[^\]]*\] )?([0-9a-f]{8}-[0-9a-f-]{27}) (\S+) (.*)$/s;

function byLine(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
  let unfinished = '';
  stream.on('data', (text: string) => {
    const lines = `${unfinished}${text}`.split('\n');
    unfinished = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
}
