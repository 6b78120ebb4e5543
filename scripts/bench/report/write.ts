/** Writes docs/benchmarks.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readNotes, reportPage } from './page.ts';
import type { StoredResult } from './stored.ts';

/** `notesFile` is notes.md, `docs` the folder of the documentation. */
export function writeReport(stored: readonly StoredResult[], notesFile: string, docs: string): void {
  writeFileSync(join(docs, 'benchmarks.md'), reportPage(stored, readNotes(readFileSync(notesFile, 'utf8'))));
}
