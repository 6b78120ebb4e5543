/** What the tasks of deno.json permit, and that the README says the same. */
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

test('the README says of Deno what its task says', () => {
  const [, block = ''] = /^```sh\n(deno run [\s\S]*?)\n```/m.exec(readFileSync(`${root}/README.md`, 'utf8')) ?? [];
  assert.equal(block.replaceAll(/ \\\n +/g, ' '), tasks.start);
});

/** What a task permits, in order; a permission without a list is permitted whole. */
function permissionsOf(task: keyof typeof tasks): string[] {
  return tasks[task].split(' ').filter((word) => word.startsWith('--allow-'));
}

test('the task permits nothing whole but the network and what the system tells of itself, and the files that the program reads are among those it may read', () => {
  const flags = permissionsOf('start');
  assert.deepEqual(
    flags.filter((flag) => !flag.includes('=')),
    // Of `sys` a part would do, but Deno 2.9.6 refuses the name of one: `ca`.
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

test('a command may do what the service may, read two more variables, and reach the files that people name', () => {
  const start = permissionsOf('start');
  const more = permissionsOf('sallyport').filter((flag) => !start.includes(flag));
  const variables = start.find((flag) => flag.startsWith('--allow-env='));
  assert.deepEqual(more, [`${variables},XDG_STATE_HOME,NO_COLOR`, '--allow-read', '--allow-write']);
});
