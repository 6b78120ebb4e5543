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
  /** Folders and files that still have the word. Remove them from this list once they do not. */
  readonly remaining: readonly string[];
};

const PRIVATE_WORDS: readonly PrivateWord[] = [
  {
    word: /\blanes?\b/i,
    instead: 'queue',
    remaining: [],
  },
  {
    word: /\bdepartures?\b/i,
    instead: 'yield budget',
    remaining: [],
  },
  { word: /\bmanner\b/i, instead: 'concurrency limit', remaining: [] },
  { word: /\bheirs?\b/i, instead: 'file owner', remaining: ['src/data', 'src/store'] },
  { word: /\bbequeath/i, instead: 'pass on', remaining: [] },
  { word: /\bbefell\b/i, instead: 'happened to', remaining: [] },
  {
    word: /\b(is|are|was|then) let be\b/i,
    instead: 'pause',
    remaining: [],
  },
  {
    word: /\bmend(s|ed|ing)?\b/i,
    instead: 'fix',
    remaining: ['src/access', 'src/webhooks', 'test/cli', 'docs/send-webhooks.md'],
  },
];

test('no private word is in code, tests, scripts or pages', () => {
  const files = ['src', 'test', 'scripts', 'docs', 'schema.sql', 'CONTRIBUTING.md'].flatMap(filesBelow);
  assert.ok(files.length > 500);
  assert.deepEqual(files.flatMap(privateWordsIn), []);
});

function privateWordsIn(file: string): string[] {
  const words = PRIVATE_WORDS.filter(({ remaining }) => !remaining.some((path) => file.startsWith(path)));
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  return lines.flatMap((line, at) =>
    words
      .filter(({ word }) => word.test(line))
      .map(({ instead }) => `${file}:${at + 1}: ${line.trim()} (write: ${instead})`),
  );
}

function filesBelow(path: string): string[] {
  if (path.includes('.')) return [path];
  return readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|mjs|js|md)$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(path, name))
    .filter((name) => name !== 'test/docs/plain-english.test.ts');
}
