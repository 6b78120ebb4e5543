/** Where third-party tools are installed that tests use and the project does not depend on. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../../node_modules/.cache/test-tools', import.meta.url));

/**
 * Returns the folder of the tools that the file `versions` lists. The first call in a checkout has `install` fill it. That happens in a
 * temporary folder that is then renamed, so that interrupted or concurrent installs do no harm. Throws what `install` throws.
 */
export function toolFolder(name: string, versions: string, install: (fresh: string) => void): string {
  const version = createHash('sha256').update(readFileSync(versions)).digest('hex').slice(0, 16);
  const folder = join(cache, `${name}-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(`${folder}.`);
  try {
    install(fresh);
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
