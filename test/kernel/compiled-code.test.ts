/** Where a checkout keeps its compiled code: only where nobody else can write it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { compiledCodeFolder } from '../../src/kernel/compiled-code.ts';
import { temporaryFolder } from '../support/store.ts';

const root = join(import.meta.dirname, '..', '..');
const isRoot = process.geteuid?.() === 0;
const OTHER_USER = 65534;

type Checkout = { readonly packages: string; readonly compiled: string; folder(): string | null };

/** A checkout with this file and those that it imports, and with an empty `node_modules`. */
async function checkoutOf(t: TestContext): Promise<Checkout> {
  const checkout = temporaryFolder(t);
  const file = join(checkout, 'src/kernel/compiled-code.ts');
  for (const name of ['compiled-code.ts', 'assets.ts', 'version.ts'])
    cpSync(join(root, 'src/kernel', name), join(checkout, 'src/kernel', name));
  const packages = join(checkout, 'node_modules');
  mkdirSync(packages);
  const copy = (await import(file)) as { readonly compiledCodeFolder: typeof compiledCodeFolder };
  return { packages, compiled: join(packages, '.compiled'), folder: copy.compiledCodeFolder };
}

describe('the folder of the compiled code', () => {
  it('is one that only its owner can read', async (t) => {
    const { compiled, folder } = await checkoutOf(t);
    assert.equal(folder(), compiled);
    assert.equal(lstatSync(compiled).mode & 0o777, 0o700);
    assert.equal(folder(), compiled);
  });

  it('is not used if others can read or write it, or if it is a link', async (t) => {
    const { compiled, folder } = await checkoutOf(t);
    symlinkSync(temporaryFolder(t), compiled);
    assert.equal(folder(), null);
    const { compiled: open, folder: folderOfOpen } = await checkoutOf(t);
    mkdirSync(open);
    for (const mode of [0o777, 0o770, 0o755]) {
      chmodSync(open, mode);
      assert.equal(folderOfOpen(), null);
    }
  });

  it('is not used if it belongs to another user', { skip: !isRoot && 'only root makes such a folder' }, async (t) => {
    const { compiled, folder } = await checkoutOf(t);
    mkdirSync(compiled, { mode: 0o700 });
    chownSync(compiled, OTHER_USER, OTHER_USER);
    assert.equal(folder(), null);
  });

  it('is not made in packages of another user', { skip: !isRoot && 'only root makes such a folder' }, async (t) => {
    const { packages, compiled, folder } = await checkoutOf(t);
    chownSync(packages, OTHER_USER, OTHER_USER);
    assert.equal(folder(), null);
    assert.equal(existsSync(compiled), false);
  });

  it('is not made where nothing can be written', async (t) => {
    const { packages, folder } = await checkoutOf(t);
    rmSync(packages, { recursive: true });
    assert.equal(folder(), null);
    writeFileSync(packages, '');
    assert.equal(folder(), null);
  });
});

describe('the command in a checkout', () => {
  it('keeps its compiled code, unless NODE_COMPILE_CACHE names another folder', (t) => {
    if (process.versions.deno !== undefined) return t.skip('Deno has a folder of its own for it');
    const checkout = temporaryFolder(t);
    for (const name of ['src', 'package.json']) cpSync(join(root, name), join(checkout, name), { recursive: true });
    mkdirSync(join(checkout, 'node_modules'));
    const compiled = join(checkout, 'node_modules', '.compiled');
    const elsewhere = join(checkout, 'elsewhere');
    const version = (env: Readonly<Record<string, string>>): void => {
      const args = ['--disable-warning=ExperimentalWarning', join(checkout, 'src/main.ts'), 'version'];
      const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
      assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
    };
    version({ NODE_COMPILE_CACHE: elsewhere });
    assert.ok(readdirSync(elsewhere, { recursive: true }).length > 10);
    assert.equal(existsSync(compiled), false);
    version({});
    assert.ok(readdirSync(compiled, { recursive: true }).length > 1);
  });
});
