/** What a process has used so far, as Linux tells it. */
import { readdirSync, readFileSync } from 'node:fs';

/** CPU time of all the threads that it has. */
export function cpuMillis(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce((sum, thread) => sum + onCpuNanos(`${tasks}/${thread}/schedstat`) / 1e6, 0);
}

/** Of one thread; none of one that has just ended. */
function onCpuNanos(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[0]);
  } catch {
    return 0;
  }
}

/** Resident memory. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
