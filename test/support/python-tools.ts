/** Installs the Python packages of test/tools/requirements.txt, which tests use as third-party clients and libraries. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const requirements = fileURLToPath(new URL('../tools/requirements.txt', import.meta.url));
const cache = fileURLToPath(new URL('../../node_modules/.cache/test-tools', import.meta.url));

/**
 * Returns the path of a `python` with the packages. The first call in a checkout installs them, which takes a minute. Throws if Python 3 is
 * missing. Run a package's program with `-m`, because its script refers to the temporary folder of the installation.
 */
export function pythonWithTools(): string {
  const version = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const folder = join(cache, `python-${version}`);
  const python = join(folder, 'bin', 'python');
  if (!existsSync(python)) install(folder);
  return python;
}

/** Installs into a temporary folder and renames it, so that interrupted or concurrent installs do no harm. */
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
