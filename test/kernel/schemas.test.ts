import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isoInstant, parseMoment } from '../../src/kernel/schemas.ts';

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
