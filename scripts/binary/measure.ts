/** What the single binary costs: its size, the time it takes to be ready, the memory it has when nothing happens. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const STARTS = 11;
/** After this much rest the garbage of the start is mostly gone. */
const IDLE_MS = 5000;

/** One line for each figure, as it is known. */
export async function* measureBinary(binary: string): AsyncGenerator<string> {
  yield `size: ${megabytes(statSync(binary).size)}`;
  const packed = execFileSync('xz', ['-6', '-T0', '-c', binary], { maxBuffer: 2 ** 30 });
  yield `size as xz: ${megabytes(packed.length)}`;

  const folder = mkdtempSync(join(tmpdir(), 'measure-binary-'));
  try {
    const data = join(folder, 'data');
    execFileSync(binary, ['init', '--data', data], { env: {}, stdio: 'pipe' });
    const starts: number[] = [];
    let residentBytes = 0;
    for (let start = 1; start <= STARTS; start += 1) {
      const startedAt = performance.now();
      const child = spawn(binary, ['serve', '--json', '--port', '0', '--data', data], { env: {} });
      await once(child.stdout, 'data');
      starts.push(performance.now() - startedAt);
      if (start === STARTS) {
        await setTimeout(IDLE_MS);
        residentBytes = residentOf(child.pid ?? 0);
      }
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    starts.sort((one, other) => one - other);
    const [fastest = 0, median = 0, slowest = 0] = [0, (STARTS - 1) / 2, STARTS - 1].map((at) => starts[at]);
    yield `start to a ready port: ${median.toFixed(0)} ms (${fastest.toFixed(0)} to ${slowest.toFixed(0)}, ${STARTS} starts)`;
    yield `resident memory when idle: ${megabytes(residentBytes)}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function residentOf(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
