/** The form of every benchmark. */
import type { BenchResult } from '../report/result.ts';

export type BenchContext = {
  /** An empty folder of its own, on a disk; it is removed afterwards. */
  readonly folder: string;
  /** How often everything is measured. */
  readonly rounds: number;
  /** How long one measurement under load takes. */
  readonly seconds: number;
  /** As small as it can be: to see that it runs, not to learn from. */
  readonly quick: boolean;
  readonly soakMinutes: number;
  /** Programs of peers that are not on this machine: those peers are left out, and the result says so. */
  readonly missing: ReadonlySet<string>;
  /** Reports progress. */
  say(what: string): void;
};

export type Bench = {
  readonly name: string;
  /** Programs that must be installed. */
  readonly programs: readonly string[];
  /** Programs that only the peers need. */
  readonly peerPrograms?: readonly string[];
  /** Whether it needs the packages of this folder's own lock file. */
  readonly peers: boolean;
  /** One result, or several that were measured together. */
  run(context: BenchContext): Promise<readonly Omit<BenchResult, 'seconds'>[]>;
};
