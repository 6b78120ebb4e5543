import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Licences that allow distributing the program in source and as a binary. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-0-Clause', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'LGPL-3.0+', 'MIT'];

const root = fileURLToPath(new URL('../..', import.meta.url));

type LockEntry = { readonly version: string; readonly dev?: boolean; readonly devOptional?: boolean };
type Component = {
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly licenses: readonly { readonly license: { readonly id?: string; readonly name?: string } }[];
};

describe('the SBOM', () => {
  let components: readonly Component[];
  let licences: string;
  const folder = mkdtempSync(join(tmpdir(), 'sbom-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  before(() => {
    execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, 'scripts', 'sbom.ts'), folder]);
    ({ components } = JSON.parse(readFileSync(join(folder, 'sbom.json'), 'utf8')) as { components: Component[] });
    licences = readFileSync(join(folder, 'licences.txt'), 'utf8');
  });

  const named = ({ group, name, version }: Component): string =>
    `${group === undefined ? '' : `${group}/`}${name} ${version}`;

  it('lists exactly the packages that running needs', () => {
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, LockEntry>;
    };
    const installed = Object.entries(packages).filter(
      ([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional && existsSync(join(root, path)),
    );
    const expected = installed.map(([path, { version }]) => `${path.split('node_modules/').at(-1)} ${version}`);
    assert.ok(expected.length > 30);
    assert.deepEqual([...new Set(components.map(named))].sort(), [...new Set(expected)].sort());
  });

  it('lists the licence of each, which allows distribution', () => {
    for (const component of components) {
      const ids = component.licenses.map(({ license }) => license.id ?? license.name ?? '');
      assert.ok(ids.length > 0 && ids.every((id) => ALLOWED.includes(id)), `${named(component)}: ${ids}`);
    }
  });

  it('has the text of each licence', () => {
    const texts = new Map(licences.split(/\n-{80}\n/).map((text) => [text.trim().split(/:|\n/, 1)[0] ?? '', text]));
    assert.match(texts.get('sallyport') ?? '', /MIT/);
    for (const component of components) {
      const text = texts.get(named(component)) ?? '';
      assert.ok(text.length > 400, `${named(component)}: ${text}`);
    }
  });
});
