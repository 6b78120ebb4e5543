/**
 * Installs what package-lock.json names and node_modules lacks. Plain JavaScript for Node >= 18: the machine's own Node
 * may be too old for the rest of the project, whose Node comes with the packages. Nothing here writes to stdout.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const lockFile = join(root, 'package-lock.json');
const installedFile = join(root, 'node_modules', '.package-lock.json');
const installingFile = join(root, '.installing');
const WAIT_STEP_MS = 250;

/** Runs `npm ci` when needed; `development: false` is content without the packages that only tests and checks use. */
export function installMissing({ development }) {
  if (isInstalled(development)) return;
  takeTurn();
  try {
    if (!isInstalled(development)) install();
  } finally {
    rmSync(installingFile, { force: true });
  }
}

/**
 * The Node that came with the packages, or the running one where there is none for this platform. Not by way of
 * node_modules/.bin: npm 10 and older remove that link again along with the package for the other processor.
 */
export function projectNode() {
  const brought = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(brought)) return brought;
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return process.execPath;
  throw new Error(
    `Node 22.19 or newer is needed; this is ${process.versions.node} and none is packaged for this system`,
  );
}

/** Compares contents, not times: a checkout or a copy changes the times. Optional packages belong to other platforms. */
function isInstalled(development) {
  const wanted = readPackages(lockFile);
  const present = readPackages(installedFile);
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = present[path];
    if (found !== undefined) return found.version === entry.version && found.integrity === entry.integrity;
    return entry.optional === true || (!development && (entry.dev === true || entry.devOptional === true));
  });
}

function readPackages(file) {
  if (file === installedFile && !existsSync(file)) return {};
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}

function install() {
  process.stderr.write('Installing the packages of package-lock.json\n');
  const include = ['--include=dev', '--include=optional'];
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  // npm's own output goes to stderr: stdout belongs to the command that is about to run.
  const { status, error } = spawnSync('npm', ['ci', ...include, ...quiet], { cwd: root, stdio: ['ignore', 2, 2] });
  if (error) throw new Error(`npm is needed to install the packages: ${error.message}`);
  if (status !== 0) throw new Error(`npm ci failed with status ${status}`);
}

/** Two installs at once would remove each other's files, so the second waits. A turn whose process is gone is void. */
function takeTurn() {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    try {
      writeFileSync(installingFile, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isOwnerGone()) rmSync(installingFile, { force: true });
    else Atomics.wait(pause, 0, 0, WAIT_STEP_MS);
  }
}

function isOwnerGone() {
  try {
    const owner = Number(readFileSync(installingFile, 'utf8'));
    // 0: created, its number not written yet.
    if (owner !== 0) process.kill(owner, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}
