import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

const folder = new URL('../../src/wire/', import.meta.url);
const files = readdirSync(folder);

describe('the wire’s files', () => {
  it('are found', () => assert.ok(files.length > 10));

  for (const file of files) {
    const source = readFileSync(new URL(file, folder), 'utf8');
    const imports = [...source.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from '([^']+)';/gm)];

    it(`import nothing that a receiver would have to install (${file})`, () => {
      for (const [statement, type, from = ''] of imports) {
        const own = /^\.\/[a-z0-9-]+\.ts$/.test(from) || from === '../limits.ts' || from.startsWith('node:');
        assert.ok(own || (from === 'openpgp' && type !== undefined), statement);
      }
      if (file !== 'pgp.ts') assert.doesNotMatch(source, /\bimport\(/);
    });
  }

  for (const file of ['base64.ts', 'date.ts', 'headers.ts', 'signature.ts', 'tolerance.ts', 'verdict.ts']) {
    it(`need nothing of Node's for the layout of a signature (${file})`, () => {
      assert.doesNotMatch(readFileSync(new URL(file, folder), 'utf8'), /\bnode:|\bBuffer[.(]|\bprocess\./);
    });
  }
});
