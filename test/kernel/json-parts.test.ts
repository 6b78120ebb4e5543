import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parsingBytes, READ_AT_ONCE } from '../../src/kernel/json-parts.ts';
import { createJsonReader, type JsonParts } from '../../src/kernel/json-reader.ts';
import { inOnePiece } from '../../src/kernel/slices.ts';
import { jsonText, looseJsonText } from '../support/json-texts.ts';
import { refused } from '../support/refusals.ts';

/** The parts of a text, or null if it is not JSON. */
function madeOf(make: () => unknown): { readonly value: unknown } | null {
  try {
    return { value: make() };
  } catch (error) {
    if (error instanceof SyntaxError || (error as { readonly code?: unknown }).code === 'malformed_json') return null;
    throw error;
  }
}

/** The calls of a reader that gets so many bytes at a time. Pieces of white space are joined. */
function told(text: string, atOnce: number): string[] {
  const lines: string[] = [];
  const spaces = { begin: -1, end: -1 };
  const note =
    (name: string) =>
    (...places: readonly unknown[]) =>
      void lines.push(`${name} ${places.join(' ')}`);
  const parts: JsonParts = {
    open: note('open'),
    close: note('close'),
    name: note('name'),
    string: note('string'),
    scalar: note('scalar'),
    space: (begin, end) => {
      if (spaces.end === begin) lines.pop();
      else spaces.begin = begin;
      spaces.end = end;
      note('space')(spaces.begin, end);
    },
  };
  const reader = createJsonReader(Buffer.from(text), parts);
  try {
    for (let at = 0; reader.next(atOnce); at = reader.at()) assert.ok(reader.at() - at <= atOnce);
  } catch (error) {
    lines.push(String(error));
  }
  return lines;
}

/** Texts of a request, with white space, escapes and further members, some of them damaged. */
const space = fc.constantFrom('', ' ', '\n\t ');
const item = fc.oneof(
  fc.json({ depthSize: 'small' }),
  fc.constantFrom('{"a":"]}"}', '{"a":"\\\\","b":[1,[2]]}', '"\\"]"', '{"\\u0022}":"\\u005d,"}', '{}', '[]', '7', ''),
);
const name = fc.constantFrom('"events"', '"ev\\u0065nts"', '"event"', '"other"', '"__proto__"');
const list = fc
  .tuple(fc.array(fc.tuple(space, item, space), { maxLength: 4 }), space)
  .map(([items, end]) => (items.length === 0 ? `[${end}]` : `[${items.map((parts) => parts.join('')).join(',')}]`));
const member = fc
  .tuple(space, name, space, space, fc.oneof(list, item))
  .map(([a, key, b, c, value]) => `${a}${key}${b}:${c}${value}`);
const text = fc.oneof(
  jsonText,
  looseJsonText.map(({ loose }) => loose),
  fc.array(member, { maxLength: 3 }).map((members) => `{${members.join(',')}}`),
  list,
  item,
);
const damaged = fc
  .tuple(text, fc.nat(), fc.constantFrom('', ',', ']', '}', '[', '{', '"', ':', '\\', '0'))
  .map(([whole, n, put]) => {
    const at = n % (whole.length + 1);
    return `${whole.slice(0, at)}${put}${whole.slice(at + 1)}`.toWellFormed();
  });

/** Texts that are large, each in another way. */
const LARGE: Readonly<Record<string, string>> = {
  objects: `[${Array.from({ length: 20_000 }, (_, n) => `{"k${n}":1}`).join(',')}]`,
  members: `{${Array.from({ length: 20_000 }, (_, n) => `"k${n}":1`).join(',')}}`,
  depth: '['.repeat(200_000) + ']'.repeat(200_000),
  'white space': `[1${' '.repeat(300_000)}]`,
  'a string': `["${'x'.repeat(300_000)}"]`,
  escapes: `["${'\\u0041'.repeat(50_000)}"]`,
  'a name': `{"${'x'.repeat(300_000)}":1}`,
  'a number': `[${'1'.repeat(300_000)}]`,
};

/** A name of one escaped character. JSON.parse of Node 24 sometimes makes a backslash of it, after it has read certain other objects. */
const ESCAPED_NAME = /"\\(?:u[0-9a-f]{4}|.)"\s*:/i;

describe('a reader of JSON', () => {
  it('accepts what JSON.parse accepts, and makes the same of it', () => {
    fc.assert(
      fc.property(fc.oneof(text, damaged), (json) => {
        fc.pre(!ESCAPED_NAME.test(json));
        assert.deepEqual(
          madeOf(() => inOnePiece(parsingBytes(Buffer.from(json)))),
          madeOf(() => JSON.parse(json)),
        );
      }),
      { numRuns: 2000, endOnFailure: true },
    );
    for (const json of [
      '-',
      '01',
      '1.',
      '.5',
      '1e',
      '1e+',
      '-0',
      '1E+05',
      'nul',
      'nulll',
      '"\\x"',
      '"\\u00g0"',
      '"\t"',
      '\u00a01',
      '{"a":1,}',
      '[1,]',
      '1 2',
      '{"a" 1}',
      '{1:1}',
      '"',
      '"\\',
    ])
      assert.deepEqual(
        madeOf(() => inOnePiece(parsingBytes(Buffer.from(json)))),
        madeOf(() => JSON.parse(json)),
        json,
      );
  });

  it('reads a name of one escaped character', () => {
    for (const [written, made] of [
      ['\\n', '\n'],
      ['\\\\', '\\'],
      ['\\"', '"'],
      ['\\/', '/'],
      ['\\u0022', '"'],
      ['\\u0041', 'A'],
    ] as const)
      assert.deepEqual(inOnePiece(parsingBytes(Buffer.from(`{"a":1,"${written}":{"${written}":2}}`))), {
        a: 1,
        [made]: { [made]: 2 },
      });
  });

  it('tells the same however many bytes it reads in one step, and never reads more', () => {
    fc.assert(
      fc.property(fc.oneof(text, damaged), fc.integer({ min: 1, max: 9 }), (json, atOnce) =>
        assert.deepEqual(told(json, atOnce), told(json, json.length * 4 + 1)),
      ),
      { numRuns: 500, endOnFailure: true },
    );
    for (const [, json] of Object.entries(LARGE)) told(json, 1000);
  });

  it('tells where an error is', async () => {
    await refused(async () => inOnePiece(parsingBytes(Buffer.from('{"ü":[{},{},{"a":nope}]}'))), {
      code: 'malformed_json',
      says: 'at byte 19',
    });
  });
});

describe('a large JSON text', () => {
  for (const [what, json] of Object.entries(LARGE))
    it(`of ${what} is parsed with a pause after each ${READ_AT_ONCE} bytes`, () => {
      const work = parsingBytes(Buffer.from(json));
      let pauses = 0;
      while (work.next().done !== true) pauses += 1;
      assert.equal(pauses, Math.ceil(json.length / READ_AT_ONCE));
    });

  it('is refused with 413 if it has more values than it may have, even if it is not JSON', async () => {
    const parse = async (json: string): Promise<unknown> => inOnePiece(parsingBytes(Buffer.from(json), 100));
    const of = (count: number): string => JSON.stringify(Array.from({ length: count }, (_, n) => `,"[${n}`));
    assert.deepEqual(await parse(of(99)), JSON.parse(of(99)));
    await refused(() => parse(of(100)), { code: 'content_too_large' });
    await refused(() => parse(`[${of(97)}`), { code: 'malformed_json' });
    await refused(() => parse(`${'[1,'.repeat(READ_AT_ONCE)}x`), { code: 'content_too_large' });
  });
});
