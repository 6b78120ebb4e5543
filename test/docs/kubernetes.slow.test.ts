/** The manifest is read by the schemas of Kubernetes' own API, of the version that it names and of a current one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanUp } from '../support/cleanup.ts';
import { pythonWithTools } from '../support/python-tools.ts';

const file = fileURLToPath(new URL('../../docs/examples/kubernetes.yaml', import.meta.url));
const manifest = readFileSync(file, 'utf8');

function validate(t: TestContext, version: string, text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'manifest-'));
  cleanUp(t, () => rmSync(folder, { recursive: true }));
  const copy = join(folder, 'manifest.yaml');
  writeFileSync(copy, text);
  const args = ['-m', 'kubernetes_validate', '--strict', '--kubernetes-version', version, copy];
  const { status, stdout, stderr } = spawnSync(pythonWithTools(), args, { encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

describe('docs/examples/kubernetes.yaml', () => {
  it('names the oldest version that it needs', () => assert.match(manifest, /Needs Kubernetes 1\.30\./));

  for (const version of ['1.30', '1.37']) {
    it(`has only resources and fields of Kubernetes ${version}`, (t) => {
      const { status, said } = validate(t, version, manifest);
      assert.equal(status, 0, said);
      const kinds = [...manifest.matchAll(/^kind: (\w+)$/gm)].map(([, kind = '']) => kind.toLowerCase());
      assert.ok(kinds.length >= 5);
      for (const kind of kinds) assert.match(said, new RegExp(`passed for resource ${kind}/`));
    });
  }

  it('would be refused with a field that does not exist', (t) => {
    const { status, said } = validate(
      t,
      '1.30',
      manifest.replace('terminationGracePeriodSeconds', 'gracePeriodSeconds'),
    );
    assert.notEqual(status, 0);
    assert.match(said, /gracePeriodSeconds/);
  });
});
