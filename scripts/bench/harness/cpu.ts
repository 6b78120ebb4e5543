/** The CPU time of a process so far, as Linux reports it. */
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';

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

/** CPU time of all processes of the PostgreSQL server at a URL, which must be on this machine. */
export async function cpuMillisOfPostgres(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  const server = parentOf(Number(rows[0]?.pid));
  await client.end();
  const children = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && parentOf(pid) === server);
  return [server, ...children].reduce((sum, pid) => sum + schedulerMillis(`/proc/${pid}`), 0);
}

/** 0: the process has ended. */
function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readIfThere(`/proc/${pid}/status`))?.[1] ?? 0);
}

function schedulerMillis(process: string): number {
  return Number(readIfThere(`${process}/schedstat`).split(' ')[0] ?? 0) / 1e6;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Resident memory. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
