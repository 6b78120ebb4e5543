/** Where third-party tools are installed that tests use and the project does not depend on. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../../node_modules/.cache/test-tools', import.meta.url));
const LOOK_MS = 100;
/** No installation takes as long, so that the mark of a process that was killed keeps nobody waiting. */
const INSTALLED_WITHIN_MS = 300_000;

/**
 * Returns the folder of the tools that the file `versions` lists. The first call in a checkout has `install` fill it; other processes wait
 * for it, because an installation takes up to a minute of processor time. It happens in a temporary folder that is then renamed, so that an
 * interrupted one does no harm. Throws what `install` throws.
 */
export function toolFolder(name: string, versions: string, install: (fresh: string) => void): string {
  const version = createHash('sha256').update(readFileSync(versions)).digest('hex').slice(0, 16);
  const folder = join(cache, `${name}-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const mark = `${folder}.installing`;
  if (!takeTurn(mark, folder)) return folder;
  const fresh = mkdtempSync(`${folder}.`);
  try {
    install(fresh);
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(mark, { force: true });
  }
  return folder;
}

/** Writes the mark, as soon as no other process has one. False if the folder is there before. */
function takeTurn(mark: string, folder: string): boolean {
  while (!existsSync(folder)) {
    try {
      writeFileSync(mark, String(process.pid), { flag: 'wx' });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    // Two that see an old one at the same time both install, which does no harm.
    if (!isInstalling(mark)) rmSync(mark, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
  }
  return false;
}

/** Whether the process that wrote the mark runs. */
function isInstalling(mark: string): boolean {
  try {
    if (Date.now() - statSync(mark).mtimeMs > INSTALLED_WITHIN_MS) return false;
    return process.kill(Number(readFileSync(mark, 'utf8')), 0);
  } catch {
    return false;
  }
}
