/** Installs npm packages of test/tools, which the project does not depend on. */
import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolFolder } from './tool-folder.ts';

/** The folders of test/tools with packages of npm. `other-receivers`: receivers and their libraries that others wrote. */
type Tools = 'openapi-typescript' | 'other-receivers';

/** Returns the `node_modules` with these packages. The first call in a checkout installs them. */
export function npmModules(name: Tools): string {
  const tools = fileURLToPath(new URL(`../tools/${name}`, import.meta.url));
  const folder = toolFolder(name, join(tools, 'package-lock.json'), (fresh) => {
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(tools, file), join(fresh, file));
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: fresh });
  });
  return join(folder, 'node_modules');
}
