/** The package `sallyport-receiver` as its users get it: built, packed, and installed from the tarball into an empty project. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanUp } from './cleanup.ts';
import { createMailbox } from './mailbox.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FLAGS = ['--disable-warning=ExperimentalWarning'];

export type Project = {
  readonly folder: string;
  /** Paths in the tarball. */
  readonly packed: readonly string[];
};

let installed: Project | null = null;

/** The same one for every test of a file: it takes some seconds. Removed when the process ends. */
export function receiverProject(): Project {
  installed ??= install();
  return installed;
}

function install(): Project {
  const parent = mkdtempSync(join(tmpdir(), 'sallyport-receiver-'));
  process.once('exit', () => rmSync(parent, { recursive: true, force: true }));
  const build = join(parent, 'build');
  const folder = join(parent, 'project');
  execFileSync(process.execPath, [...FLAGS, join(root, 'scripts', 'build-receiver.ts'), build], { stdio: 'pipe' });
  const [packed] = JSON.parse(npm(build, 'pack', '--json', '--pack-destination', parent)) as [
    { files: { path: string }[] },
  ];
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"type": "module", "private": true}');
  const [tarball = ''] = readdirSync(parent).filter((name) => name.endsWith('.tgz'));
  // Without a registry: there is nothing that it would have to be asked for.
  npm(folder, 'install', '--offline', '--no-audit', '--no-fund', join(parent, tarball));
  return { folder, packed: packed.files.map(({ path }) => path).sort() };
}

function npm(folder: string, ...args: readonly string[]): string {
  return execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Lets the project import a package that this one has. */
export function borrow({ folder }: Project, name: string): void {
  const link = join(folder, 'node_modules', name);
  mkdirSync(join(link, '..'), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(join(root, 'node_modules', name), link);
}

/** What the compiler says of a file of the project; empty when it is content. */
export function typeErrors({ folder }: Project, file: string, compilerOptions: object): string {
  const settings = {
    compilerOptions: {
      target: 'es2023',
      module: 'nodenext',
      strict: true,
      noEmit: true,
      types: [],
      ...compilerOptions,
    },
    include: [file],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  try {
    return execFileSync(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder], {
      encoding: 'utf8',
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

/** The program in the first TypeScript block under a heading of docs/receive-webhooks.md. */
export function documentedReceiver(heading: string): string {
  const [, section = ''] = readFileSync(join(root, 'docs', 'receive-webhooks.md'), 'utf8').split(`\n## ${heading}\n`);
  const [, code] = /^```ts\n([\s\S]*?)^```/m.exec(section.split('\n## ', 1)[0] ?? '') ?? [];
  assert.ok(code, `there is no program under ${heading}`);
  return code;
}

export type RunningReceiver = {
  readonly port: number;
  /** The next line that it prints. */
  nextLine(): Promise<string>;
};

/** Runs a file of the project that says `listening on port <n>`. Killed when the test ends. */
export async function runReceiver(
  t: TestContext,
  { folder }: Project,
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<RunningReceiver> {
  const { PATH } = process.env;
  const child = spawn(process.execPath, [...FLAGS, file], {
    cwd: folder,
    env: { PATH, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close');
  cleanUp(t, async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const lines = createMailbox<string>(`a line of ${file}`);
  let unfinished = '';
  const take = (text: string): void => {
    const whole = `${unfinished}${text}`.split('\n');
    unfinished = whole.pop() ?? '';
    for (const line of whole) lines.put(line);
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  child.once('close', () => lines.fail('the program ended'));
  const line = await lines.take();
  const [, port] = /^listening on port (\d+)$/.exec(line) ?? [];
  assert.ok(port !== undefined, line);
  return { port: Number(port), nextLine: lines.take };
}
