/** Documents that are no export. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { readOutpost } from '../../src/importing/outpost.ts';
import { readSvix } from '../../src/importing/svix.ts';
import { Refusal } from '../../src/kernel/refusal.ts';
import { documentsLike, IMPORT_OPTIONS, outpostExport, svixExport } from '../support/exports.ts';

const MANY = Array.from({ length: 20_001 }, () => null);

const READERS = [
  {
    name: 'Svix',
    read: readSvix,
    like: svixExport(),
    list: 'applications',
    wrong: [
      [{ applications: 7 }, /^Refusal: applications must be a list/],
      [{ applications: MANY }, /more than 20000 items/],
    ],
  },
  {
    name: 'Outpost',
    read: readOutpost,
    like: outpostExport({ filter: { data: { total: { $gte: 1 } } } }),
    list: 'tenants',
    wrong: [[{ tenants: [{ destinations: 7 }] }, /tenants\[0\]\.destinations must be a list/]],
  },
] as const;

for (const { name, read, like, list, wrong } of READERS)
  describe(`in place of an export of ${name}`, () => {
    it('another document is refused with the place', () => {
      for (const given of [null, [], {}, 'x'])
        assert.throws(() => read(given, IMPORT_OPTIONS), new RegExp(`must be an object with ${list}`));
      for (const [given, message] of wrong) assert.throws(() => read(given, IMPORT_OPTIONS), message);
    });

    it('any JSON is read or refused, and nothing throws otherwise', () => {
      fc.assert(
        fc.property(documentsLike(like), (given) => {
          try {
            read(given, IMPORT_OPTIONS);
          } catch (error) {
            assert.ok(error instanceof Refusal, String(error));
          }
        }),
        { numRuns: 1000 },
      );
    });
  });
