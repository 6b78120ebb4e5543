/** Checks that this project's former private words do not come back. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

type PrivateWord = {
  readonly word: RegExp;
  /** The field's word for it. */
  readonly instead: string;
};

const PRIVATE_WORDS: readonly PrivateWord[] = [
  {
    word: /\blanes?\b/i,
    instead: 'queue',
  },
  {
    word: /\bdepartures?\b/i,
    instead: 'yield budget',
  },
  { word: /\bmanner\b/i, instead: 'concurrency limit' },
  { word: /\bheirs?\b/i, instead: 'file owner' },
  { word: /\bbequeath/i, instead: 'pass on' },
  { word: /\bbefell\b/i, instead: 'happened to' },
  {
    word: /\b(is|are|was|then) let be\b/i,
    instead: 'pause',
  },
  {
    word: /\bmend(s|ed|ing)?\b/i,
    instead: 'fix',
  },
  { word: /\b(lest|whence|thereby|wherein)\b/i, instead: 'a plain conjunction' },
  { word: /\bof its own accord\b/i, instead: 'automatically' },
  { word: /\bwhere there (is|are) none\b/i, instead: 'without one' },
];

test('no private word is in code, tests, scripts or pages', () => {
  const files = ['src', 'test', 'scripts', 'docs', 'schema.sql', 'CONTRIBUTING.md'].flatMap(filesBelow);
  assert.ok(files.length > 500);
  assert.deepEqual(files.flatMap(privateWordsIn), []);
});

function privateWordsIn(file: string): string[] {
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  return lines.flatMap((line, at) =>
    PRIVATE_WORDS.filter(({ word }) => word.test(line)).map(
      ({ instead }) => `${file}:${at + 1}: ${line.trim()} (write: ${instead})`,
    ),
  );
}

function filesBelow(path: string): string[] {
  if (path.includes('.')) return [path];
  return readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|mjs|js|md)$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(path, name))
    .filter((name) => name !== 'test/docs/plain-english.test.ts');
}
