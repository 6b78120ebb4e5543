/** The programs of the demo, as arguments for the runtime that the demo runs on; Deno gives each the permissions it needs. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root: string = fileURLToPath(new URL('../../', import.meta.url));

const NODE_FLAGS = ['--disable-warning=ExperimentalWarning'];

/** `sallyport` with what `deno task start` permits, its files below `folder` and the network of this machine alone. */
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

/** To be run where `root` is. */
function program(path: string, permissions: () => readonly string[]): string[] {
  return 'deno' in process.versions ? ['run', '--no-prompt', ...permissions(), path] : [...NODE_FLAGS, path];
}

function startPermissions(): string[] {
  const { tasks } = JSON.parse(readFileSync(`${root}deno.json`, 'utf8')) as { tasks: { start: string } };
  return tasks.start.split(' ').filter((word) => word.startsWith('--allow-'));
}
