/** The programs of docs/receivers as their users run them: started from the file that is there, asked by real requests. */
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

/** A port of 0 is any that is free. */
export type ReadyProgram = {
  command(port: number): Command;
  /** The same program with its clock standing still. */
  commandAt(port: number, epochSeconds: number): Command;
};

export type ReceiverProgram = {
  readonly language: string;
  /** The required program, and its Debian package; null without one. */
  readonly needs: Readonly<Record<string, string | null>>;
  /** Compiles the program in an empty folder, if it needs that. */
  prepare(folder: string): ReadyProgram;
  /** It takes a certificate; otherwise something in front of it has to end TLS. */
  readonly servesTls: boolean;
  /** Its server hands over the headers of a request before the body has come. */
  readonly readsHeadersFirst: boolean;
  /** Its server keeps one of the headers that came twice, and does not tell. */
  readonly dropsRepeated?: true;
  /** Needs a port as argument. The text that it prints once it listens. */
  readonly listening?: RegExp;
  /** Variables beside those of all programs. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The settings are read with each request. */
  readonly beginsUnset?: true;
  /** Of a folder with `certificate.pem` and `privateKey.pem`, where those two are not enough. */
  readonly tlsSettings?: (folder: string) => Readonly<Record<string, string>>;
};

export type RunningProgram = {
  readonly port: number;
  /** The next record that it was handed. */
  nextRecord(): Promise<HandedRecord>;
  /** Ends the program and returns all deliveries, including those under way. */
  end(): Promise<readonly HandedRecord[]>;
  /** Its output so far. */
  log(): string;
};

/** A file of docs/receivers. */
export function receiverFile(name: string): string {
  return fileURLToPath(new URL(`../../docs/receivers/${name}`, import.meta.url));
}

/** The programs that are not installed here. */
export function missingPrograms(needs: ReceiverProgram['needs']): readonly string[] {
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
    // Another process may take the port between its being found free and the program's taking it.
    if (left === 1 || !/address already in use/i.test(running.log())) {
      throw new Error(`the receiver in ${program.language} ended:\n${running.log()}`);
    }
  }
}

/** `listening` gives the port if the program says it, 0 if not, null if it ends before. */
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

/** A folder for GnuPG with these private keys; its agent ends with the test. */
export function gnupgWith(t: TestContext, privateKeys: readonly string[]): string {
  // Short, since the agent's socket is in it.
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
