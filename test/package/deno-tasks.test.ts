/** Checks the permissions of the tasks in deno.json, and that docs/runtimes.md has the same. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ASSETS, type AssetName, assetFile } from '../../src/kernel/assets.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { tasks } = JSON.parse(readFileSync(`${root}/deno.json`, 'utf8')) as {
  tasks: Record<'start' | 'sallyport' | 'demo', string>;
};

test('docs/runtimes.md has the command of the Deno task', () => {
  const [, block = ''] =
    /^```sh\n(deno run [\s\S]*?)\n```/m.exec(readFileSync(`${root}/docs/runtimes.md`, 'utf8')) ?? [];
  assert.equal(block.replaceAll(/ \\\n +/g, ' '), tasks.start);
});

/** The permissions of a task in order. A permission without a list is unrestricted. */
function permissionsOf(task: keyof typeof tasks): string[] {
  return tasks[task].split(' ').filter((word) => word.startsWith('--allow-'));
}

test('the task restricts all permissions but --allow-net and --allow-sys, and may read the program’s files', () => {
  const flags = permissionsOf('start');
  assert.deepEqual(
    flags.filter((flag) => !flag.includes('=')),
    // A part of `sys` would be enough, but Deno 2.9.6 refuses the name of one kind, `ca`.
    ['--allow-net', '--allow-sys'],
  );
  const [, folders = ''] = flags.map((flag) => flag.split('=')).find(([name]) => name === '--allow-read') ?? [];
  for (const name of Object.keys(ASSETS) as AssetName[]) {
    const file = assetFile(name);
    const path = relative(root, typeof file === 'string' ? file : fileURLToPath(file));
    assert.ok(
      folders.split(',').some((folder) => path === folder || path.startsWith(`${folder}/`)),
      path,
    );
  }
});

test('a command has the permissions of the service, two more variables, and all files', () => {
  const start = permissionsOf('start');
  const more = permissionsOf('sallyport').filter((flag) => !start.includes(flag));
  const variables = start.find((flag) => flag.startsWith('--allow-env='));
  assert.deepEqual(more, [`${variables},XDG_STATE_HOME,NO_COLOR`, '--allow-read', '--allow-write']);
});
