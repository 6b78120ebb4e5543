/**
 * Measures the single binary with `xz`, `hyperfine` and GNU `time`, and compares with the promised bounds: its size, the time until it is
 * ready, and its memory when idle.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const PACKED_MAX_BYTES = 40e6;
const READY_MAX_MS = 300;
const IDLE_MAX_BYTES = 120e6;

const STARTS = 11;
/** Between two starts: only one process may serve a folder, and the one before must end first. */
const PAUSE_SECONDS = 0.5;
/** After this time, most garbage of the start is collected. */
const IDLE_MS = 5000;

export type Figure = { readonly line: string; readonly isKept: boolean };

/** Yields each figure once it is measured. */
export async function* measureBinary(binary: string): AsyncGenerator<Figure> {
  yield { line: `size: ${megabytes(statSync(binary).size)}`, isKept: true };
  const packed = execFileSync('xz', ['-6', '-T0', '-c', binary], { maxBuffer: 2 ** 30 });
  yield figure('size as xz', packed.length, PACKED_MAX_BYTES, megabytes);
  const folder = mkdtempSync(join(tmpdir(), 'measure-binary-'));
  try {
    const data = join(folder, 'data');
    execFileSync(binary, ['init', '--data', data], { env: {}, stdio: 'pipe' });
    const { median, min, max } = timeStarts(binary, data, join(folder, 'starts.json'));
    const range = `${milliseconds(min)} to ${milliseconds(max)} in ${STARTS} starts`;
    const ready = figure('start to a ready port (hyperfine)', median, READY_MAX_MS, milliseconds);
    yield { ...ready, line: `${ready.line}; ${range}` };
    const { idleBytes, peakBytes } = await measureMemory(binary, data, join(folder, 'time'));
    const idle = figure('resident memory when idle', idleBytes, IDLE_MAX_BYTES, megabytes);
    yield { ...idle, line: `${idle.line}; ${megabytes(peakBytes)} at most (time -v)` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In milliseconds, from the start until the process prints its address. */
function timeStarts(binary: string, data: string, report: string): { median: number; min: number; max: number } {
  const command = `exec 3< <(exec ${binary} serve --json --port 0 --data ${data} 2>&-); read -ru 3 line; kill $!`;
  const options = ['--shell', 'bash', '--warmup', '1', '--runs', String(STARTS), '--style', 'none'];
  execFileSync('hyperfine', [...options, '--prepare', `sleep ${PAUSE_SECONDS}`, '--export-json', report, command]);
  const { results } = JSON.parse(readFileSync(report, 'utf8')) as {
    results: [{ median: number; min: number; max: number }];
  };
  const [{ median, min, max }] = results;
  return { median: median * 1000, min: min * 1000, max: max * 1000 };
}

async function measureMemory(
  binary: string,
  data: string,
  report: string,
): Promise<{ idleBytes: number; peakBytes: number }> {
  const serve = ['serve', '--json', '--port', '0', '--data', data];
  const time = spawn('/usr/bin/time', ['-v', '-o', report, binary, ...serve], {
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(time, 'exit');
  const early = ended.then(([code, signal]) => {
    throw new Error(`${binary} ended (${signal ?? code}) before it was measured`);
  });
  await Promise.race([once(time.stdout, 'data'), early]);
  await Promise.race([setTimeout(IDLE_MS), early]);
  const pid = Number(readFileSync(`/proc/${time.pid}/task/${time.pid}/children`, 'utf8'));
  const idleBytes = kibibytes(readFileSync(`/proc/${pid}/status`, 'utf8'), /^VmRSS:\s+(\d+) kB$/m);
  process.kill(pid, 'SIGTERM');
  await ended;
  return {
    idleBytes,
    peakBytes: kibibytes(readFileSync(report, 'utf8'), /Maximum resident set size \(kbytes\): (\d+)/),
  };
}

function figure(what: string, value: number, max: number, shown: (value: number) => string): Figure {
  const isKept = value < max;
  return { line: `${what}: ${shown(value)}, ${isKept ? 'less' : 'NOT LESS'} than ${shown(max)}`, isKept };
}

function kibibytes(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1]) * 1024;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(0)} ms`;
}
