/** Checks that this project's former private words do not come back. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Files of code and of documentation, and the kinds of files whose comments people read as well. */
const CODE_AND_PAGES = /\.(ts|mjs|js|md)$/;
const PROSE = /\.(ts|mjs|js|md|sql|sh|py|go|java|cs|php|rb|yaml|conf|service)$|\/(Caddyfile|Dockerfile)$/;

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
  const files = ['src', 'test', 'scripts', 'docs', 'schema.sql', 'CONTRIBUTING.md'].flatMap((path) => filesBelow(path));
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

/** Words and constructions that read translated, each with a plain one. Comments and line breaks do not hide a match. */
const CONSTRUCTIONS: readonly PrivateWord[] = [
  { word: /\bwhoever\b/i, instead: 'anyone who' },
  { word: /\b(some|any)body\b/i, instead: 'someone, anyone, or a noun' },
  { word: /\bin any case\b/i, instead: 'always, or in upper or lower case' },
  { word: /\ba name for people\b/i, instead: 'a name' },
  { word: /, so (it|the \w+) stays\./, instead: 'cannot be deleted' },
  { word: /\balone\b/i, instead: 'only' },
  { word: /\banew\b/i, instead: 'again' },
  { word: /\bat once\b/i, instead: 'immediately, or at the same time' },
  { word: /\bit takes\b/i, instead: 'requires' },
  { word: /\bheed(s|ed|ing)?\b/i, instead: 'honour' },
  { word: /\balso(?=[.;:)])/i, instead: 'also before the verb' },
  { word: /\bby (it|them)sel(f|ves)\b/i, instead: 'automatically' },
  { word: /\bturn(s|ed)? down\b/i, instead: 'reject' },
  { word: /\b(bring|brings|brought) the cookie\b/i, instead: 'send the cookie' },
  { word: /\bmeanwhile\b/i, instead: 'during' },
  { word: /\blets? ((it|them|somebody|others) )?in\b/i, instead: 'give access' },
  {
    word: /\bwhat (is|are|was|were|has|have|had|belongs?|waits?|came|comes|follows|happened|goes)\b/,
    instead: 'a noun',
  },
  { word: /\bthose (that|who|which)\b/i, instead: 'a noun' },
  { word: /\b(has|have) to be\b/i, instead: 'must be' },
  { word: /\bwhere there (is|are)\b/i, instead: 'if there is' },
  { word: /\bwhatever becomes of\b/i, instead: 'whatever happens to' },
  { word: /\b(is|are) (yours|theirs|ours) to\b/i, instead: 'you must' },
  { word: /\bstands? (in|for|there|beside)\b/i, instead: 'is' },
  { word: /\bby way of\b/i, instead: 'through' },
  { word: /\bfor (good|ever)\b/i, instead: 'permanently, or forever' },
  { word: /\bunder way\b/i, instead: 'in progress' },
  { word: /\bby mouse\b/i, instead: 'in the portal' },
];

/** Made of texts in the code. */
const GENERATED = /^docs\/reference\//;
const PAGES = ['docs', 'scripts', 'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']
  .flatMap((path) => filesBelow(path))
  .filter((file) => file.endsWith('.md') && !GENERATED.test(file));
/** Pages load it with an integrity hash, which a change of a comment would break. */
const PINNED = 'src/portal/assets/embed.js';
/** Names of test vectors. */
const VECTORS = 'scripts/make-vectors.py';
const CODE = ['src', 'scripts', 'docs', 'schema.sql']
  .flatMap((path) => filesBelow(path, PROSE))
  .filter((file) => !file.endsWith('.md') && file !== PINNED && file !== VECTORS);

test('no page has a construction that reads translated', () => {
  assert.ok(PAGES.length > 80);
  assert.deepEqual(PAGES.flatMap(constructionsIn), []);
});

test('no comment or text of the code has a construction that reads translated', () => {
  assert.ok(CODE.length > 400);
  assert.deepEqual(CODE.flatMap(constructionsIn), []);
});

test('no comment begins with “What”', () => {
  const files = [...CODE, ...filesBelow('test')];
  const comments = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(BEGINS_WITH_WHAT)].map(([comment]) => `${file}: ${comment}`),
  );
  assert.deepEqual(comments, []);
});

/** The first words of such a docstring. Write a noun or a verb: “The rights of …”, “Returns …”. */
const BEGINS_WITH_WHAT = /\/\*\*?\s+(?:\* )?What .{0,40}/g;

test('no title of a test has a construction that reads translated', () => {
  const titles = filesBelow('test').flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(TITLE)].map(([, , title = '']) => ({ file, title })),
  );
  assert.ok(titles.length > 3000);
  const found = titles.filter(({ title }) => CONSTRUCTIONS.some(({ word }) => word.test(title)));
  assert.deepEqual(found, []);
});

/** The first argument of a test or a suite, if it is a text. */
const TITLE = /\b(?:test|it|describe|onSqlite|onPostgres)(?:\.\w+)?\(\s*(['"`])((?:\\.|(?!\1).)+)\1/g;

/** In the database, where instances of two versions share it. */
const STORED = "= 'under way';";

function constructionsIn(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
    .replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
    .replace(STORED, '');
  const prose = text.replaceAll(/\s*\n\s*(?:\*\s|\/\/\s|--\s|#\s)?/g, ' ');
  return CONSTRUCTIONS.flatMap(({ word, instead }) =>
    [...prose.matchAll(new RegExp(word, `${word.flags}g`))].map(
      ({ index }) => `${file}: …${prose.slice(Math.max(0, index - 40), index + 40)}… (write: ${instead})`,
    ),
  );
}

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

function filesBelow(path: string, kinds: RegExp = CODE_AND_PAGES): string[] {
  if (path.includes('.')) return [path];
  return readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
    .filter((name) => kinds.test(name) && !name.includes('node_modules'))
    .map((name) => join(path, name))
    .filter((name) => name !== 'test/docs/plain-english.test.ts');
}
