/**
 * Replaces `node:child_process` for tests on Deno. If a signal was sent to a child, Deno always reports that the signal ended it. Deno
 * also waits forever for a child that ends before it has read a long input.
 */
import * as node from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const { execFile, fork, spawnSync } = node;

export const spawn = ((...args: Parameters<typeof node.spawn>) => {
  const child = node.spawn(...args);
  child.kill = (signal) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return false;
    try {
      return process.kill(child.pid, signal);
    } catch {
      return false;
    }
  };
  return child;
}) as typeof node.spawn;

/** Passes the input as a file instead of a pipe. */
export const execFileSync = ((file: string, args: readonly string[], options: node.ExecFileSyncOptions = {}) => {
  const { input, ...others } = options;
  if (input === undefined || input === '') return node.execFileSync(file, args, others);
  const folder = mkdtempSync(join(tmpdir(), 'input-'));
  try {
    const path = join(folder, 'input');
    writeFileSync(path, input as string | Uint8Array);
    return node.execFileSync('sh', ['-c', 'input=$1; shift; exec "$@" <"$input"', 'sh', path, file, ...args], others);
  } finally {
    rmSync(folder, { recursive: true });
  }
}) as typeof node.execFileSync;
