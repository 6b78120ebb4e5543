import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseBounded, parseInParts } from '../../src/kernel/json-parts.ts';
import { inOnePiece } from '../../src/kernel/slices.ts';
import { refused } from '../support/refusals.ts';

const PARTS = { list: 'events', itemsMax: 5, bytesMax: 1000, hint: 'it may have less' };

/** What `JSON.parse` makes of it, or null for an error. */
function parsed(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

function inParts(text: string): { readonly value: unknown } | null {
  try {
    return { value: inOnePiece(parseInParts(text, { ...PARTS, itemsMax: 50, bytesMax: 1e9 })) };
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'malformed_json') return null;
    throw error;
  }
}

/** Texts of a request, with white space, escapes and further members, some of them damaged. */
const space = fc.constantFrom('', ' ', '\n\t ');
const item = fc.oneof(
  fc.json({ depthSize: 'small' }),
  fc.constantFrom('{"a":"]}"}', '{"a":"\\\\","b":[1,[2]]}', '"\\"]"', '{"\\u0022":"\\u005d,"}', '{}', '[]', '7', ''),
);
const name = fc.constantFrom('"events"', '"ev\\u0065nts"', '"event"', '"other"', '"__proto__"');
const list = fc
  .tuple(fc.array(fc.tuple(space, item, space), { maxLength: 4 }), space)
  .map(([items, end]) => (items.length === 0 ? `[${end}]` : `[${items.map((parts) => parts.join('')).join(',')}]`));
const member = fc
  .tuple(space, name, space, space, fc.oneof(list, item))
  .map(([a, key, b, c, value]) => `${a}${key}${b}:${c}${value}`);
const body = fc.oneof(
  fc.array(member, { maxLength: 3 }).map((members) => `{${members.join(',')}}`),
  list,
  item,
);
const damaged = fc
  .tuple(body, fc.nat(), fc.constantFrom('', ',', ']', '}', '[', '{', '"', ':', '\\', '0'))
  .map(([text, n, put]) => {
    const at = n % (text.length + 1);
    return `${text.slice(0, at)}${put}${text.slice(at + 1)}`;
  });

describe('a JSON text that is parsed in parts', () => {
  it('is what JSON.parse makes of it, and is refused where that refuses it', () => {
    fc.assert(
      fc.property(fc.oneof(body, damaged), (text) => assert.deepEqual(inParts(text), parsed(text))),
      { numRuns: 1000, endOnFailure: true },
    );
  });

  it('pauses within the text and between its items', () => {
    const work = parseInParts(`{"events":[${' '.repeat(200_000)}{},{},{}]}`, PARTS);
    let pauses = 0;
    while (work.next().done !== true) pauses += 1;
    assert.ok(pauses >= 3 + 3, String(pauses));
  });

  it('is refused before anything is parsed if it is too large, whatever it is', async () => {
    const large = '"1":1,'.repeat(200);
    const cases: readonly (readonly [text: string, field: string])[] = [
      [`{"events":[{"data":{}},{"data":{${large}"x":1}}]}`, 'events[1]'],
      [`{"events":[{"data":{${large}`, 'events[0]'],
      [`{"data":{${large}"x":1}}`, 'body'],
      [`{"events":[{}],"other":{${large}"x":1}}`, 'body'],
      [`[${large}]`, 'body'],
      [`{"events":[1,2,3,4,5,6,7`, 'events'],
    ];
    for (const [text, field] of cases) {
      await refused(async () => inOnePiece(parseInParts(text, PARTS)), { code: 'validation_failed', fields: [field] });
    }
  });

  it('has its size without white space and with the shortest form of each escape', () => {
    const data = `{"a":"${'\\u0041'.repeat(990)}"}`;
    const wide = `{"events":[${' '.repeat(5000)}${data}${' '.repeat(5000)}]}`;
    assert.deepEqual(inParts(wide), parsed(wide));
  });

  it('tells where in the whole text an error is', async () => {
    const text = '{"events":[{},{},{"a":nope}]}';
    await refused(async () => inOnePiece(parseInParts(text, PARTS)), {
      code: 'malformed_json',
      says: 'in the item at position 17',
    });
  });
});

describe('a JSON text with a bound on its values', () => {
  it('is parsed with as many, and refused with 413 with more', async () => {
    const of = (count: number): string => JSON.stringify(Array.from({ length: count }, (_, n) => `,"[${n}`));
    assert.deepEqual(inOnePiece(parseBounded(of(98), 100)), JSON.parse(of(98)));
    await refused(async () => inOnePiece(parseBounded(of(100), 100)), { code: 'content_too_large' });
    await refused(async () => inOnePiece(parseBounded(`[${of(97)}`, 100)), { code: 'malformed_json' });
  });
});
