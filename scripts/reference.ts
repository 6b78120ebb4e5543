/** `npm run reference` writes the pages of docs/reference/, which are generated from the code. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referencePages } from './reference/pages.ts';

const folder = fileURLToPath(new URL('../docs/reference/', import.meta.url));

mkdirSync(folder, { recursive: true });
for (const [name, text] of await referencePages()) {
  writeFileSync(join(folder, name), text);
  process.stdout.write(`docs/reference/${name}\n`);
}
