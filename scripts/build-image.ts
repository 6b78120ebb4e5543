/**
 * `npm run build:image [-- <tag>]` builds the image of docs/examples/Dockerfile with docker or podman, `sallyport:<version>` by default,
 * and tries it: a container must become ready, pass its health check, stop with status 0, and keep its data over a restart.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { VERSION } from '../src/kernel/version.ts';

const ENGINES = ['docker', 'podman'] as const;
const READY_MS = 60_000;
const PAUSE_MS = 500;
/** A stop takes at most 10 s; after this time the engine would kill the process. */
const STOP_SECONDS = 20;
/** The options that the documentation recommends, so that the image is tried as it is used. */
const HARDENED = [
  '--read-only',
  '--tmpfs',
  '/tmp:exec,size=16m',
  '--cap-drop',
  'ALL',
  '--security-opt',
  'no-new-privileges',
];

const root = resolve(import.meta.dirname, '..');
const tag = process.argv[2] ?? `sallyport:${VERSION}`;
const engine = ENGINES.find((name) => spawnSync(name, ['info'], { stdio: 'ignore' }).status === 0);
if (engine === undefined) {
  process.stderr.write(
    'build:image needs docker or podman, and neither works here: install one, or start its service\n',
  );
  process.exit(1);
}
const name = `sallyport-try-${process.pid}`;

// Podman's own format has no health check.
const format = engine === 'podman' ? ['--format', 'docker'] : [];
run('build', ...format, '--file', join(root, 'docs', 'examples', 'Dockerfile'), '--tag', tag, root);
try {
  await tryImage();
} finally {
  spawnSync(engine, ['rm', '--force', '--volumes', name], { stdio: 'ignore' });
  spawnSync(engine, ['volume', 'rm', '--force', name], { stdio: 'ignore' });
}
process.stdout.write(`${tag}\n`);

async function tryImage(): Promise<void> {
  run('run', '--detach', '--name', name, ...HARDENED, '--volume', `${name}:/data`, '--publish', '127.0.0.1::8080', tag);
  await untilReady();
  const [, ...check] = JSON.parse(output('inspect', '--format', '{{json .Config.Healthcheck.Test}}', name)) as string[];
  run('exec', name, ...check);
  const applications = output('exec', name, 'sallyport', 'application', 'list', '--json');
  run('stop', '--time', String(STOP_SECONDS), name);
  const { ExitCode: status } = JSON.parse(output('inspect', '--format', '{{json .State}}', name)) as {
    ExitCode: number;
  };
  if (status !== 0) throw new Error(`the container ended with ${status}:\n${output('logs', name)}`);
  run('start', name);
  await untilReady();
  if (output('exec', name, 'sallyport', 'application', 'list', '--json') !== applications) {
    throw new Error('the container lost its data at a restart');
  }
}

async function untilReady(): Promise<void> {
  const [address = ''] = output('port', name, '8080/tcp').trim().split('\n');
  for (const giveUpAt = performance.now() + READY_MS; performance.now() < giveUpAt; await sleep(PAUSE_MS)) {
    const answer = await fetch(`http://${address}/readyz`).catch(() => null);
    if (answer?.status === 200) return;
  }
  throw new Error(`the container did not become ready:\n${output('logs', name)}`);
}

function run(...args: readonly string[]): void {
  const { status } = spawnSync(engine ?? '', args, { stdio: ['ignore', process.stderr, 'inherit'] });
  if (status !== 0) throw new Error(`${engine} ${args[0]} failed`);
}

function output(...args: readonly string[]): string {
  return execFileSync(engine ?? '', args, { encoding: 'utf8' });
}
