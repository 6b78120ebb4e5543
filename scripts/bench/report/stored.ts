/** Results as files, one a benchmark: the newest of each is what the report is made of. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from '../harness/machine.ts';
import type { BenchResult } from './result.ts';

export type StoredResult = {
  readonly measuredAt: string;
  readonly machine: Machine;
  /** Of everything that took part, by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** A run with `--quick`, which is no measurement. */
  readonly isRehearsal: boolean;
  readonly result: BenchResult;
};

export function storeResult(folder: string, stored: StoredResult): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${stored.result.bench}.json`), `${JSON.stringify(stored, null, 2)}\n`);
}

/** Those of the benches that there are, in their order. Throws for a rehearsal: its figures mean nothing. */
export function readResults(folder: string, names: readonly string[]): StoredResult[] {
  const files = names.map((name) => join(folder, `${name}.json`)).filter((file) => existsSync(file));
  const results = files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as StoredResult);
  const rehearsal = results.find(({ isRehearsal }) => isRehearsal);
  if (rehearsal !== undefined) throw new Error(`${rehearsal.result.bench} was measured with --quick: measure it again`);
  return results;
}
