import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { changesBetween } from '../../src/domain/audit.ts';
import { secret } from '../../src/kernel/secret.ts';

/** As the log keeps it. */
const written = (before: object | null, after: object | null): unknown =>
  JSON.parse(JSON.stringify(changesBetween(before as Record<string, unknown>, after as Record<string, unknown>)));

describe('the changes of an audit entry', () => {
  const table: readonly [what: string, before: object | null, after: object | null, changes: object][] = [
    ['nothing where nothing differs', { a: 1, b: [1], c: { d: 1 } }, { a: 1, b: [1], c: { d: 1 } }, {}],
    ['a field that differs', { a: 1, b: 2 }, { a: 1, b: 3 }, { b: { from: 2, to: 3 } }],
    ['every field of what is new', null, { a: 1, b: 'x' }, { a: { from: null, to: 1 }, b: { from: null, to: 'x' } }],
    ['every field of what is gone', { a: 1 }, null, { a: { from: 1, to: null } }],
    ['no field that is null in what is new', null, { a: null }, {}],
    ['lists as wholes', { a: ['x'] }, { a: ['x', 'y'] }, { a: { from: ['x'], to: ['x', 'y'] } }],
    ['lists in another order', { a: ['x', 'y'] }, { a: ['y', 'x'] }, { a: { from: ['x', 'y'], to: ['y', 'x'] } }],
    ['members of objects', { a: { b: 1 } }, { a: { b: 2 } }, { a: { from: { b: 1 }, to: { b: 2 } } }],
    ['false and null as two things', { a: false }, { a: null }, { a: { from: false, to: null } }],
    ['0 and "0" as two things', { a: 0 }, { a: '0' }, { a: { from: 0, to: '0' } }],
    ['no instants of writing', { createdAt: 1, updatedAt: 1, at: 1 }, { createdAt: 2, updatedAt: 2, at: 1 }, {}],
    ['no secret that stayed the same', { a: secret('one') }, { a: secret('one') }, {}],
    [
      'a changed secret, masked',
      { a: secret('one') },
      { a: secret('two') },
      { a: { from: '[secret]', to: '[secret]' } },
    ],
    ['a new secret, masked', { a: null }, { a: secret('one') }, { a: { from: null, to: '[secret]' } }],
    ['a removed secret, masked', { a: secret('one') }, { a: null }, { a: { from: '[secret]', to: null } }],
    ['a text that became a secret', { a: '[secret]' }, { a: secret('x') }, { a: { from: '[secret]', to: '[secret]' } }],
    [
      'a secret inside an object, masked',
      { a: { b: secret('one') } },
      { a: { b: secret('two') } },
      { a: { from: { b: '[secret]' }, to: { b: '[secret]' } } },
    ],
    [
      'the hash of a secret, masked, by the name of the secret',
      { secretHash: Buffer.from('one'), passwordHash: null },
      { secretHash: Buffer.from('two'), passwordHash: 'scrypt$1' },
      { secret: { from: '[secret]', to: '[secret]' }, password: { from: null, to: '[secret]' } },
    ],
    [
      'an instant as readers see instants',
      { expiresAt: 1795293004159, revokedAt: null, at: 5 },
      { expiresAt: null, revokedAt: 0, at: 6 },
      {
        expiresAt: { from: '2026-11-21T20:30:04.159Z', to: null },
        revokedAt: { from: null, to: '1970-01-01T00:00:00.000Z' },
        at: { from: 5, to: 6 },
      },
    ],
    [
      'no hash that stayed the same',
      { secretHash: Buffer.from('one') },
      { secretHash: new Uint8Array([111, 110, 101]) },
      {},
    ],
  ];
  for (const [what, before, after, changes] of table) {
    it(`name ${what}`, () => assert.deepEqual(written(before, after), changes));
  }

  it('never contain a secret or a hash, in any field', () => {
    const text = fc.string({ minLength: 12, maxLength: 30, unit: fc.constantFrom(...'abcdef0123456789') });
    const fields = fc.constantFrom('secret', 'nextSecret', 'apiKey', 'clientPrivateKey');
    fc.assert(
      fc.property(fields, text, text, (field, one, two) => {
        const before = { [field]: secret(one), secretHash: Buffer.from(one), previousSecretHash: null };
        const after = { [field]: secret(two), secretHash: Buffer.from(two), previousSecretHash: Buffer.from(one) };
        const log = JSON.stringify([
          changesBetween(before, after),
          changesBetween(null, after),
          changesBetween(after, null),
        ]);
        for (const told of [one, two]) {
          assert.ok(!log.includes(told));
          assert.ok(!log.includes(Buffer.from(told).toString('hex')));
          assert.ok(!log.includes(JSON.stringify(Buffer.from(told).toJSON().data)));
        }
      }),
    );
  });
});
