/**
 * Installs the packages of package-lock.json that node_modules lacks. Plain JavaScript for Node >= 18, because the machine's Node may be
 * too old for the rest of the project, which brings its own Node as a package. Nothing here writes to stdout.
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

/** Installs missing packages. With `development: false`, packages that only tests and checks use may be missing, and are not installed. */
export function installMissing({ development }) {
  if (isInstalled(development)) return;
  lock();
  try {
    if (!isInstalled(development)) install(development);
  } finally {
    rmSync(installingFile, { force: true });
  }
}

/**
 * The Node of the packages, or the running Node if there is no package for this platform. Does not use node_modules/.bin: npm 10 and older
 * remove that link together with the package for the other processor.
 */
export function projectNode() {
  const brought = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(brought)) return brought;
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return process.execPath;
  throw new Error(
    `Sallyport needs Node 22.19 or newer. This is ${process.versions.node}, and no package has a Node for this system.`,
  );
}

/** Compares contents, not times, because a checkout or a copy changes the times. Optional packages may be for other platforms. */
function isInstalled(development) {
  const wanted = readPackages(lockFile);
  const present = readPackages(installedFile);
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = present[path];
    if (found !== undefined) return found.version === entry.version && found.integrity === entry.integrity;
    return entry.optional === true || (!development && isForDevelopment(entry));
  });
}

function isForDevelopment(entry) {
  return entry.dev === true || entry.devOptional === true;
}

function readPackages(file) {
  if (file === installedFile && !existsSync(file)) return {};
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}

function install(development) {
  const since = Date.now();
  const present = Object.values(readPackages(installedFile));
  process.stderr.write(`${announcement(development, present.length === 0)}\n`);
  // `npm ci` would remove the files of a service that runs.
  const command = present.length === 0 ? ['ci'] : ['install', '--no-save'];
  const isDeveloped = development || present.some(isForDevelopment);
  const include = [isDeveloped ? '--include=dev' : '--omit=dev', '--include=optional'];
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  // Only npm's errors: stdout belongs to the command that runs next.
  const { status, error } = spawnSync('npm', [...command, ...include, ...quiet], {
    cwd: root,
    stdio: ['ignore', 'ignore', 2],
  });
  if (error) throw new Error(`cannot run npm to install the packages: ${error.message}`);
  if (status !== 0) throw new Error(`npm ${command[0]} failed with status ${status}`);
  process.stderr.write(`Installed in ${Math.round((Date.now() - since) / 1000)} s. Starting …\n`);
}

/** Tells which packages are installed and how long that takes, because npm says nothing during it. */
function announcement(development, isFirst) {
  if (!isFirst) return 'Installing the packages that are missing or were updated …';
  const wanted = Object.entries(readPackages(lockFile)).filter(
    ([path, entry]) => path !== '' && !isForOtherPlatform(entry),
  );
  const count = wanted.filter(([, entry]) => development || !isForDevelopment(entry)).length;
  return development
    ? `Installing Node 24 and ${count} packages, with those for tests and checks. This takes about half a minute …`
    : `Installing Node 24 and ${count} packages. This takes about 10 seconds, only the first time …`;
}

function isForOtherPlatform({ os = [process.platform], cpu = [process.arch] }) {
  return !os.includes(process.platform) || !cpu.includes(process.arch);
}

/** Locks the installation, because two concurrent ones would remove each other's files. The lock of a process that has ended is void. */
function lock() {
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
    // 0: the file was created, but its process id is not written yet.
    if (owner !== 0) process.kill(owner, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}
