/** The command lines of the demo's programs for the current runtime. On Deno they include the permissions. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root: string = fileURLToPath(new URL('../../', import.meta.url));

const NODE_FLAGS = ['--disable-warning=ExperimentalWarning'];

/** `sallyport` with the permissions of `deno task start`, limited to files below `folder` and to this machine's network. */
export function serviceProgram(folder: string): string[] {
  return program('src/main.ts', () =>
    startPermissions().map((flag) =>
      flag === '--allow-net' ? '--allow-net=127.0.0.1' : flag.replace(/\bdata$/, folder),
    ),
  );
}

export function receiverProgram(): string[] {
  return program('scripts/demo/receiver.ts', () => ['--allow-net=127.0.0.1', '--allow-read=node_modules']);
}

/** The command line must run in `root`. */
function program(path: string, permissions: () => readonly string[]): string[] {
  return 'deno' in process.versions ? ['run', '--no-prompt', ...permissions(), path] : [...NODE_FLAGS, path];
}

function startPermissions(): string[] {
  const { tasks } = JSON.parse(readFileSync(`${root}deno.json`, 'utf8')) as { tasks: { start: string } };
  return tasks.start.split(' ').filter((word) => word.startsWith('--allow-'));
}
