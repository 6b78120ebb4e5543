/** Installs npm packages of test/tools, which the project does not depend on. */
import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolFolder } from './tool-folder.ts';

/** Returns the `node_modules` with the packages of a folder of test/tools. The first call in a checkout installs them. */
function modulesOf(name: 'openapi-typescript' | 'signature-libraries'): string {
  const tools = fileURLToPath(new URL(`../tools/${name}`, import.meta.url));
  const folder = toolFolder(name, join(tools, 'package-lock.json'), (fresh) => {
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(tools, file), join(fresh, file));
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: fresh });
  });
  return join(folder, 'node_modules');
}

/** openapi-typescript, openapi-fetch and a TypeScript for them. */
export function openapiTypescriptModules(): string {
  return modulesOf('openapi-typescript');
}

/** stripe and @octokit/webhooks-methods. */
export function signatureLibraryModules(): string {
  return modulesOf('signature-libraries');
}
