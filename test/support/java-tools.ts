/** Installs the Java libraries of test/tools/pom.xml, which tests use as third-party clients. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolFolder } from './tool-folder.ts';

const pom = fileURLToPath(new URL('../tools/pom.xml', import.meta.url));

/** Returns a class path with the libraries. The first call in a checkout downloads them. Throws if Maven is missing. */
export function javaToolsClassPath(): string {
  const folder = toolFolder('java', pom, (fresh) => {
    const copy = ['dependency:copy-dependencies', `-DoutputDirectory=${fresh}`];
    execFileSync('mvn', ['--quiet', '--batch-mode', '--file', pom, ...copy], { stdio: 'pipe' });
  });
  return join(folder, '*');
}
