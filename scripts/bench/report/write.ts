/** Writes docs/benchmarks.md with its charts. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartOf } from './chart.ts';
import { readNotes, reportPage } from './page.ts';
import type { StoredResult } from './stored.ts';

const CHARTS = 'benchmarks';

/** `notesFile` is notes.md, `docs` the folder of the documentation. */
export function writeReport(stored: readonly StoredResult[], notesFile: string, docs: string): void {
  const page = reportPage(stored, readNotes(readFileSync(notesFile, 'utf8')), CHARTS);
  mkdirSync(join(docs, CHARTS), { recursive: true });
  for (const { result } of stored) writeFileSync(join(docs, CHARTS, `${result.bench}.svg`), chartOf(result));
  writeFileSync(join(docs, `${CHARTS}.md`), page);
}
