/** Another version of this project, with its packages, in a folder of its own. */
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { output } from './processes.ts';
import { subfolder } from './work-folder.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export type Checkout = {
  /** Its short name. */
  readonly commit: string;
  readonly folder: string;
};

/**
 * Writes the files of a commit to `parent`/version. Takes the packages of this version if both have the same lock file, and installs its
 * own otherwise. Throws if there is no such commit. The repository does not know of the folder, so removing it is enough.
 */
export async function checkOut(parent: string, revision: string): Promise<Checkout> {
  const named = await output('git', ['-C', ROOT, 'rev-parse', '--verify', '--short', `${revision}^{commit}`]).catch(
    () => {
      throw new Error(`there is no commit ${revision}`);
    },
  );
  const commit = named.trim();
  const folder = subfolder(parent, 'version');
  const archive = join(parent, 'version.tar');
  await output('git', ['-C', ROOT, 'archive', '--output', archive, commit]);
  await output('tar', ['-xf', archive, '-C', folder]);
  const lock = (of: string): string => readFileSync(join(of, 'package-lock.json'), 'utf8');
  if (lock(folder) === lock(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  else {
    const packages = ['--omit=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
    await output('npm', ['ci', ...packages], { cwd: folder });
  }
  return { commit, folder };
}
