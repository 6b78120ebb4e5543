/** Records the code that V8 compiles while a service starts, so that the single binary need not compile it. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMPILED_ASSET, PROGRAM_ASSET } from './program.ts';

export type Compilation = {
  /** The Node of the binary, and its flags. V8 rejects code that was compiled with others. */
  readonly node: string;
  readonly flags: readonly string[];
  /** For temporary files. */
  readonly folder: string;
  /** The file of each asset, including the one to write. */
  readonly assets: Readonly<Record<string, string>>;
};

/** A start takes less than a second. */
const TIMEOUT_MS = 60_000;

/** Starts and stops a service, which compiles the code that a start needs. */
export async function compileProgram({ node, flags, folder, assets }: Compilation): Promise<void> {
  const output = assets[COMPILED_ASSET] ?? '';
  const settings = join(folder, 'record.json');
  writeFileSync(settings, JSON.stringify({ assets, output }));
  const recorder = join(import.meta.dirname, 'record.ts');
  const serve = ['serve', '--json', '--port', '0', '--data', join(folder, 'data')];
  const child = spawn(node, [...flags, recorder, settings, ...serve], {
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  await Promise.race([once(child.stdout, 'data'), ended]);
  child.kill('SIGTERM');
  const [status] = await ended;
  if (status !== 0) throw new Error(`the program did not start and stop:\n${said}`);
  execFileSync(node, [...flags, '--eval', CHECK_COMPILED, assets[PROGRAM_ASSET] ?? '', output], { stdio: 'pipe' });
}

/** V8 ignores compiled code that it cannot use, and the binary would start slowly. */
const CHECK_COMPILED = `
  const [text, cachedData] = process.argv.slice(1).map((file) => require('node:fs').readFileSync(file));
  const { cachedDataRejected } = new (require('node:vm').Script)(text.toString(), { cachedData });
  if (cachedDataRejected) throw new Error('V8 rejected the compiled code');`;
