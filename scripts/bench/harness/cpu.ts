/** What a process has used so far, as Linux tells it. */
import { readdirSync, readFileSync } from 'node:fs';

/** CPU time of all the threads that it has. */
export function cpuMillis(pid: number): number {
  return [...cpuMillisByThread(pid).values()].reduce((sum, ms) => sum + ms, 0);
}

/** CPU time by the names of the threads, of which Linux keeps 15 letters. Threads with the same name count together. */
export function cpuMillisByThread(pid: number): Map<string, number> {
  const tasks = `/proc/${pid}/task`;
  const found = new Map<string, number>();
  for (const thread of readdirSync(tasks)) {
    try {
      const name = readFileSync(`${tasks}/${thread}/comm`, 'utf8').trim();
      const nanos = Number(readFileSync(`${tasks}/${thread}/schedstat`, 'utf8').split(' ')[0]);
      found.set(name, (found.get(name) ?? 0) + nanos / 1e6);
    } catch {
      // The thread has just ended.
    }
  }
  return found;
}

/** Resident memory. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
