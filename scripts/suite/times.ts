/**
 * Loaded before the tests in every test process. It measures the processor time of each test file and appends it as a line of JSON to the
 * file that `TEST_TIMES` names. scripts/suite/times-report.ts shows these lines.
 */

import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { after, afterEach, beforeEach } from 'node:test';

const { TEST_TIMES: path } = process.env;
if (path !== undefined) measure(path);

function measure(path: string): void {
  const files: Record<string, number> = {};
  let loading: number | null = null;
  let browsers = 0;
  let before = 0;
  beforeEach(() => {
    if (loading !== null) return;
    // For the programs that the tests start, and for the processes beside. Node would write it when this process ends.
    flushCompileCache();
    before = processorSeconds();
    loading = before;
  });
  afterEach((t) => {
    const now = processorSeconds();
    const file = ('filePath' in t && t.filePath) || '';
    files[file] = (files[file] ?? 0) + now - before;
    before = now;
  });
  // This file is loaded first, so this runs before the browser is closed.
  after(() => {
    browsers = runningSeconds();
  });
  process.once('exit', () => {
    const { TEST_DATABASE, TEST_POOLER } = process.env;
    const database = TEST_POOLER !== undefined ? 'PgBouncer' : TEST_DATABASE !== undefined ? 'PostgreSQL' : 'SQLite';
    appendFileSync(path, `${JSON.stringify({ database, loading: loading ?? 0, browsers, files })}\n`);
  });
}

/** Of this process and of its children that ended, which Node does not tell. */
function processorSeconds(): number {
  const own = statOf('self');
  if (own !== null) return own.seconds;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Of all programs below this process that are still running. The time of a browser is lost when it ends. */
function runningSeconds(): number {
  const stats = process.platform === 'linux' ? readdirSync('/proc').flatMap((pid) => statOf(pid) ?? []) : [];
  const sum = (parent: number): number =>
    stats.filter((stat) => stat.parent === parent).reduce((total, { pid, seconds }) => total + seconds + sum(pid), 0);
  return sum(process.pid);
}

/** Null if there is no such process, or no such file on this system. */
function statOf(pid: string): { readonly pid: number; readonly parent: number; readonly seconds: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [, parent, ...more] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const ticks = more.slice(9, 13);
    return {
      pid: Number.parseInt(stat, 10),
      parent: parent ?? 0,
      seconds: ticks.reduce((sum, count) => sum + count, 0) / 100,
    };
  } catch {
    return null;
  }
}
