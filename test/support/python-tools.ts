/** The Python packages of test/tools/requirements.txt, by which stock clients and libraries are tried. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const requirements = fileURLToPath(new URL('../tools/requirements.txt', import.meta.url));
const cache = fileURLToPath(new URL('../../node_modules/.cache/test-tools', import.meta.url));

/**
 * Returns the path of a `python` that has the packages; the first call of a checkout installs them, which takes a minute.
 * Run a package's program with `-m`: its script names the folder in which it was installed. Throws where Python 3 is missing.
 */
export function pythonWithTools(): string {
  const version = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const folder = join(cache, `python-${version}`);
  const python = join(folder, 'bin', 'python');
  if (!existsSync(python)) install(folder);
  return python;
}

/** Installs beside the folder and renames, so that an install that was cut short, or runs twice at once, does no harm. */
function install(folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(`${folder}.`);
  try {
    execFileSync('python3', ['-m', 'venv', fresh]);
    const pip = [
      join(fresh, 'bin', 'python'),
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
    ] as const;
    const [program, ...args] = pip;
    execFileSync(program, [...args, '--require-hashes', '--only-binary=:all:', '-r', requirements]);
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}
