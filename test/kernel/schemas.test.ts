import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { isoInstant, parseMoment, plainText } from '../../src/kernel/schemas.ts';

const DAY_MS = 86_400_000;

describe('an instant in ISO 8601', () => {
  it('equals that of Date after any earlier formatting', () => {
    const years: fc.Arbitrary<number> = fc.integer({ min: Date.UTC(0, 0), max: Date.UTC(9999, 11, 31) });
    // Close to each other, close to midnight, and anywhere.
    const close = fc.tuple(fc.integer({ min: 20_000, max: 20_003 }), fc.integer({ min: -3, max: 3 }));
    const instants = fc.oneof(
      years,
      close.map(([day, ms]) => day * DAY_MS + ms),
    );
    fc.assert(fc.property(instants, (at) => assert.equal(isoInstant(at), new Date(at).toISOString())));
  });

  it('is null for null', () => {
    assert.equal(isoInstant(null), null);
  });
});

describe('an instant that a person writes', () => {
  const table: readonly [text: string, iso: string | null][] = [
    ['2026-11-21T05:00:00.250Z', '2026-11-21T05:00:00.250Z'],
    ['2026-11-21T05:00:00Z', '2026-11-21T05:00:00.000Z'],
    ['2026-11-21T05:00Z', '2026-11-21T05:00:00.000Z'],
    ['2026-11-21T05:00+01:00', '2026-11-21T04:00:00.000Z'],
    ['2026-11-21T05:00', null],
    ['2026-11-21', null],
    ['2026-02-30T05:00Z', null],
    ['2026-11-21T24:00Z', null],
    ['tomorrow', null],
  ];
  for (const [text, iso] of table) {
    it(`${text} is ${iso ?? 'none'}`, () => {
      const at = parseMoment(text);
      assert.equal(at === null ? null : isoInstant(at), iso);
    });
  }
});

describe('a plain text', () => {
  const table: readonly [text: string, isPlain: boolean][] = [
    ['a', true],
    [' a ', true],
    ['äöü', true],
    ['\ud800', true],
    ['a'.repeat(5), true],
    ['😀'.repeat(5), true],
    ['', false],
    [' \u2003\ufeff', false],
    ['a\tb', false],
    ['a\x9f', false],
    ['a'.repeat(6), false],
    ['😀'.repeat(6), false],
    // Matching the documented pattern would take an hour.
    [`${'a'.repeat(2_000_000)}\x01`, false],
  ];
  for (const [text, isPlain] of table) {
    it(`${isPlain ? 'can' : 'cannot'} be ${JSON.stringify(text).slice(0, 20)}`, () => {
      assert.equal(plainText(5).safeParse(text).success, isPlain);
    });
  }

  it('matches the documented pattern', () => {
    const { pattern = '' } = z.toJSONSchema(plainText(5));
    const characters = fc.constantFrom('a', ' ', '\t', '\x9f', '\ufeff', '😀', '\ud800');
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 5 }), (text) => {
        assert.equal(plainText(5).safeParse(text).success, new RegExp(pattern, 'u').test(text));
      }),
    );
  });
});
