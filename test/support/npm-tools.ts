/** Installs the npm packages of test/tools/openapi-typescript, which the project does not depend on. */
import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolFolder } from './tool-folder.ts';

const tools = fileURLToPath(new URL('../tools/openapi-typescript', import.meta.url));

/**
 * Returns the `node_modules` with openapi-typescript, openapi-fetch and a TypeScript for them. The first call in a checkout installs them.
 */
export function openapiTypescriptModules(): string {
  const folder = toolFolder('openapi-typescript', join(tools, 'package-lock.json'), (fresh) => {
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(tools, name), join(fresh, name));
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: fresh });
  });
  return join(folder, 'node_modules');
}
