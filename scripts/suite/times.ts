/**
 * Loaded before the tests in every test process. It measures the processor time of each test file and appends it as a line of JSON to the
 * file that `TEST_TIMES` names. scripts/suite/times-report.ts shows these lines.
 */

import { appendFileSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach } from 'node:test';

const { TEST_TIMES: path } = process.env;
if (path !== undefined) measure(path);

function measure(path: string): void {
  const files: Record<string, number> = {};
  let loading: number | null = null;
  let before = 0;
  beforeEach(() => {
    if (loading !== null) return;
    before = processorSeconds();
    loading = before;
  });
  afterEach((t) => {
    const now = processorSeconds();
    const file = ('filePath' in t && t.filePath) || '';
    files[file] = (files[file] ?? 0) + now - before;
    before = now;
  });
  process.once('exit', () => {
    const { TEST_DATABASE, TEST_POOLER } = process.env;
    const database = TEST_POOLER !== undefined ? 'PgBouncer' : TEST_DATABASE !== undefined ? 'PostgreSQL' : 'SQLite';
    appendFileSync(path, `${JSON.stringify({ database, loading: loading ?? 0, files })}\n`);
  });
}

/** Of this process and of its children that ended, which Node does not tell. */
function processorSeconds(): number {
  try {
    const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
    const ticks = fields.split(' ').slice(11, 15).map(Number);
    return ticks.reduce((sum, count) => sum + count, 0) / 100;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}
