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

/** A sentence in the pages for users. Longer ones have more than one idea. */
const WORDS_MAX = 36;
/** Pages that state rules word for word, or are generated. */
const FORMAL = /^docs\/(contract|architecture|benchmarks)\.md$|^docs\/(reference|decisions)\//;

test('no sentence of a page for users is too long', () => {
  const pages = filesBelow('docs').filter((file) => file.endsWith('.md') && !FORMAL.test(file));
  assert.ok(pages.length > 40);
  const long = pages.flatMap((file) => sentencesOf(file).filter((sentence) => sentence.split(' ').length > WORDS_MAX));
  assert.deepEqual(long, []);
});

/** Constructions that the pages for users had, each with a plain one. */
const CONSTRUCTIONS: readonly PrivateWord[] = [
  { word: /\bthose (that|who|which)\b/i, instead: 'a noun' },
  { word: /\b(has|have) to be\b/i, instead: 'must be' },
  { word: /\banew\b/i, instead: 'again' },
  { word: /\bwhere there (is|are)\b/i, instead: 'if there is' },
  { word: /\bwhatever becomes of\b/i, instead: 'whatever happens to' },
  { word: /\b(is|are) (yours|theirs|ours) to\b/i, instead: 'you must' },
  { word: /\bstands? (in|for|there|beside)\b/i, instead: 'is' },
  { word: /\bby way of\b/i, instead: 'through' },
];

test('no page for users has an old construction', () => {
  const pages = filesBelow('docs').filter((file) => file.endsWith('.md') && !FORMAL.test(file));
  const found = pages.flatMap((file) =>
    sentencesOf(file).flatMap((sentence) =>
      CONSTRUCTIONS.filter(({ word }) => word.test(sentence)).map(
        ({ instead }) => `${file}: ${sentence} (write: ${instead})`,
      ),
    ),
  );
  assert.deepEqual(found, []);
});

/** The sentences of paragraphs, list items and cells of tables, without code blocks and the targets of links. */
function sentencesOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
    .replaceAll(/^ *```[\s\S]*?^ *```/gm, '\n\n')
    .replaceAll(/\]\([^)]*\)/g, ']');
  const blocks = text.split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) |\||#)/);
  const cells = blocks.flatMap((block) => (block.startsWith('|') ? block.split(' | ') : [block]));
  return cells.flatMap((cell) =>
    cell
      .trim()
      .replaceAll(/\s+/g, ' ')
      .split(/(?<=[.!?]) (?=[A-Z0-9`*[])/),
  );
}

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
