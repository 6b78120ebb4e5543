/** The npm package of the receiver, which the customers' guide offers as a download. A checkout has it only after it was built. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { receiverPackage } from '../../src/kernel/assets.ts';
import { root } from './programs.ts';

const LOWEST_PRIORITY = 19;

/**
 * Builds it beside the demo, unless it is there or the compiler is not installed. The guide offers it some seconds later. Returns what
 * ends the build.
 */
export function buildReceiverBeside(): () => void {
  const canBuild = !('deno' in process.versions) && existsSync(join(root, 'node_modules', 'typescript', 'bin', 'tsc'));
  if (receiverPackage() !== null || !canBuild) return () => {};
  // In its own process group, with the compiler and npm.
  const { pid } = spawn(process.execPath, [...process.execArgv, join(root, 'scripts', 'build-receiver.ts')], {
    cwd: root,
    stdio: 'ignore',
    detached: true,
  }).on('error', () => {});
  if (pid === undefined) return () => {};
  setPriority(pid, LOWEST_PRIORITY);
  return () => {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
}
