import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

const folder = new URL('../../src/wire/', import.meta.url);
const files = readdirSync(folder);

/** The sender's side, which may use Node's modules. Everything else runs on every runtime with WebCrypto. */
const SENDER = [
  'challenge.ts',
  'cloudevents.ts',
  'ed25519.ts',
  'event-format.ts',
  'payload.ts',
  'pgp.ts',
  'pgp-bounds.ts',
  'signature-template.ts',
  'standard-events.ts',
];

describe('the files of src/wire', () => {
  it('are found', () => {
    assert.ok(files.length > 10);
    for (const file of SENDER) assert.ok(files.includes(file), file);
  });

  for (const file of files) {
    const source = readFileSync(new URL(file, folder), 'utf8');
    const imports = [...source.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from '([^']+)';/gm)];

    it(`import no package that a receiver would have to install (${file})`, () => {
      for (const [statement, type, from = ''] of imports) {
        const own =
          /^\.\/[a-z0-9-]+\.ts$/.test(from) ||
          ['fair-queue.ts', 'lru.ts', 'turns.ts'].some((file) => from === `../kernel/${file}`) ||
          from.startsWith('node:');
        const isOfSender = SENDER.includes(file) && from.startsWith('../domain/');
        assert.ok(own || isOfSender || (from === 'openpgp' && type !== undefined), statement);
      }
      if (!file.startsWith('pgp')) assert.doesNotMatch(source, /\bimport\(/);
    });

    if (SENDER.includes(file)) continue;
    it(`use nothing of Node's on the receiver's side (${file})`, () => {
      assert.doesNotMatch(source, /\bnode:|\bBuffer[.(]|\bprocess\.|\bsetImmediate\(/);
      for (const [statement, , from = ''] of imports) assert.ok(!SENDER.includes(from.slice(2)), statement);
    });
  }
});
