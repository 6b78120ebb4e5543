/**
 * Runs test files on Deno, each in its own process, and reports the results. The tests listed in `exceptions.ts` must exist and fail. Whole
 * files are checked here, single tests in node-test.ts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import { EXCEPTIONS } from './exceptions.ts';

const FILE_TIMEOUT_MS = 300_000;
/** The number of concurrent processes. */
const CONCURRENCY = 2;

/** Prints the files with unexpected results. Returns whether there are none. */
export async function testOnDeno(deno: string, root: string, files: readonly string[]): Promise<boolean> {
  const waiting = [...files];
  let isGood = true;
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const { problem, output, passed, seconds } = await testFile(deno, root, relative(root, file));
      process.stdout.write(
        `${problem === null ? '✔' : '✖'} ${relative(root, file)} (${passed} passed, ${seconds} s)\n`,
      );
      if (problem === null) continue;
      isGood = false;
      process.stdout.write(`${problem}\n${output}\n`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return isGood;
}

type Result = {
  /** Null if the file passed. */
  readonly problem: string | null;
  readonly output: string;
  readonly passed: number;
  readonly seconds: string;
};

async function testFile(deno: string, root: string, file: string): Promise<Result> {
  const startedAt = performance.now();
  const importMap = join(import.meta.dirname, 'import-map.json');
  // All permissions, because tests start programs, create links and fill disks. The demo uses only the permissions that the service needs.
  const args = ['test', '--no-check', '--allow-all', '--quiet', `--import-map=${importMap}`, file];
  const child = spawn(deno, args, {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const patience = setTimeout(() => child.kill('SIGKILL'), FILE_TIMEOUT_MS);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(patience);
  const [, passed = '0', skipped = '0'] = /^ok \| (\d+) passed(?:.* (\d+) ignored)?/m.exec(output) ?? [];
  // A file without tests counts as failed.
  const ending = code === 0 && Number(passed) + Number(skipped) > 0 ? null : `it ended with ${signal ?? code}`;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  return { problem: problemOf(file, ending, output), output, passed: Number(passed), seconds };
}

/** `ending` is null if every test passed. */
function problemOf(file: string, ending: string | null, output: string): string | null {
  const exceptions = EXCEPTIONS.filter((exception) => exception.file === file);
  if (exceptions.some(({ test }) => test === undefined)) {
    return ending === null ? 'it passes, but scripts/runtimes/deno/exceptions.ts lists it' : null;
  }
  const gone = exceptions.find(({ test = '' }) => !output.includes(test));
  return (
    ending ??
    (gone === undefined ? null : `scripts/runtimes/deno/exceptions.ts lists a test that does not exist: ${gone.test}`)
  );
}
