import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isoInstant } from '../src/schemas.ts';

const DAY_MS = 86_400_000;

describe('an instant in ISO 8601', () => {
  it('is what Date makes of it, whatever was written before', () => {
    const years: fc.Arbitrary<number> = fc.integer({ min: Date.UTC(0, 0), max: Date.UTC(9999, 11, 31) });
    // Close to one another and to midnight, as well as anywhere.
    const close = fc.tuple(fc.integer({ min: 20_000, max: 20_003 }), fc.integer({ min: -3, max: 3 }));
    const instants = fc.oneof(
      years,
      close.map(([day, ms]) => day * DAY_MS + ms),
    );
    fc.assert(fc.property(instants, (at) => assert.equal(isoInstant(at), new Date(at).toISOString())));
  });

  it('is nothing where there is none', () => {
    assert.equal(isoInstant(null), null);
  });
});
