/** Installs the Python packages of test/tools, which tests use as third-party clients and libraries. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolFolder } from './tool-folder.ts';

const tools = (path: string): string => fileURLToPath(new URL(`../tools/${path}`, import.meta.url));

/**
 * Returns the path of a `python` with the packages. The first call in a checkout installs them, which takes a minute. Throws if Python 3 is
 * missing. Run a package's program with `-m`, because its script refers to the temporary folder of the installation.
 */
export function pythonWithTools(): string {
  return pythonWith('python', tools('requirements.txt'));
}

/** The same with the packages of test/tools/other-receivers alone. */
export function pythonOfReceivers(): string {
  return pythonWith('other-receivers-python', tools('other-receivers/requirements.txt'));
}

function pythonWith(name: string, requirements: string): string {
  const folder = toolFolder(name, requirements, (fresh) => {
    execFileSync('python3', ['-m', 'venv', fresh]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    const locked = ['--require-hashes', '--only-binary=:all:', '-r', requirements];
    execFileSync(join(fresh, 'bin', 'python'), [...pip, ...locked]);
  });
  return join(folder, 'bin', 'python');
}
