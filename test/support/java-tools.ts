/** Installs the Java libraries of test/tools/pom.xml, which tests use as third-party clients. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const pom = fileURLToPath(new URL('../tools/pom.xml', import.meta.url));
const cache = fileURLToPath(new URL('../../node_modules/.cache/test-tools', import.meta.url));

/** Returns a class path with the libraries. The first call in a checkout downloads them. Throws if Maven is missing. */
export function javaToolsClassPath(): string {
  const version = createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 16);
  const folder = join(cache, `java-${version}`);
  if (!existsSync(folder)) install(folder);
  return join(folder, '*');
}

/** Installs into a temporary folder and renames it, so that interrupted or concurrent installs do no harm. */
function install(folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(`${folder}.`);
  try {
    const copy = ['dependency:copy-dependencies', `-DoutputDirectory=${fresh}`];
    execFileSync('mvn', ['--quiet', '--batch-mode', '--file', pom, ...copy], { stdio: 'pipe' });
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}
