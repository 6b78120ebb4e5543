/** How shared statements and their parameters reach PostgreSQL. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SqlParameters, SqlValue } from '../../../src/store/port/database.ts';
import { postgresText, postgresValue } from '../../../src/store/postgres/driver/dialect.ts';
import { newDatabase, openAt } from '../../support/postgres.ts';

describe('the text of a shared statement', () => {
  const cases: readonly (readonly [sql: string, params: SqlParameters, text: string, names: readonly string[]])[] = [
    ['SELECT @a, @b, @a', { a: 'x', b: null }, 'SELECT $1, $2, $1', ['a', 'b']],
    ['SELECT @a - 1, @b', { a: 1, b: 2n }, 'SELECT $1::bigint - 1, $2::bigint', ['a', 'b']],
    ['SELECT @a, @b', { a: 0.5, b: Uint8Array.of(1) }, 'SELECT $1::double precision, $2::bytea', ['a', 'b']],
    ['SELECT @a', { a: 1e300 }, 'SELECT $1::double precision', ['a']],
    ['SELECT @a AND @ab', { a: true, ab: false }, 'SELECT $1 AND $2', ['a', 'ab']],
    [
      'SELECT lower(w.name) = lower(@a), lower(t.value), @a FROM texts(@b) AS t',
      { a: 'x', b: '[]' },
      'SELECT lower(w.name) = lower($1 COLLATE "C"), lower(t.value COLLATE "C"), $1 ' +
        'FROM json_array_elements_text(CAST($2 AS json)) AS t (value)',
      ['a', 'b'],
    ],
    ['SELECT 1 FROM event AS e INDEXED BY event_at WHERE key = 1', {}, 'SELECT 1 FROM event AS e WHERE key = 1', []],
    [
      'SELECT n.value FROM numbers(@list) AS n',
      { list: '[1]' },
      'SELECT n.value FROM (SELECT CAST(e.value AS bigint) AS value FROM json_array_elements_text(CAST($1 AS json)) AS e (value)) AS n',
      ['list'],
    ],
    [
      'SELECT t.value FROM texts(w.types) AS t, tuples(@list) AS x',
      { list: '[]' },
      'SELECT t.value FROM json_array_elements_text(CAST(w.types AS json)) AS t (value), ' +
        'json_array_elements(CAST($1 AS json)) AS x (value)',
      ['list'],
    ],
  ];
  for (const [sql, params, text, names] of cases) {
    it(`translates ${sql}`, () => assert.deepEqual(postgresText(sql, params), { text, names }));
  }

  it('needs all of its parameters', () => {
    assert.throws(() => postgresValue(undefined, 'name'), {
      name: 'RangeError',
      message: 'Missing named parameter "name"',
    });
  });
});

describe('a parameter', () => {
  it('comes back as it was sent, whatever its type, name and position', async (t) => {
    const database = await openAt(t, await newDatabase(t));
    const value: fc.Arbitrary<SqlValue> = fc.oneof(
      fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0')),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
      fc.boolean(),
      fc.uint8Array(),
      fc.constant(null),
    );
    const parameters = fc.dictionary(fc.stringMatching(/^[A-Za-z_]\w{0,8}$/), value, {
      minKeys: 1,
      noNullPrototype: true,
    });
    await fc.assert(
      fc.asyncProperty(parameters, async (params) => {
        const names = Object.keys(params);
        // Each twice, in both orders.
        const columns = [...names, ...names.toReversed()].map((name, at) => `${typed(name, params[name])} AS c${at}`);
        const row = await database.get(`SELECT ${columns.join(', ')}`, params);
        const expected = [...names, ...names.toReversed()].map((name) => stored(params[name] as SqlValue));
        assert.deepEqual(Object.values(row ?? {}), expected);
      }),
      { numRuns: 200 },
    );
  });

  const values: readonly SqlValue[] = [1, 0.5, Buffer.of(1)];
  const pairs = values.flatMap((one) => values.filter((other) => other !== one).map((other) => ({ one, other })));
  it('may change its type from one call of a statement to the next', async (t) => {
    const database = await openAt(t, await newDatabase(t));
    for (const { one, other } of pairs) {
      assert.deepEqual(await database.get('SELECT @a AS a, @b AS b', { a: one, b: other }), { a: one, b: other });
    }
  });

  it('may change its type when its object names them in another order', async (t) => {
    const database = await openAt(t, await newDatabase(t));
    for (const { one, other } of pairs) {
      assert.deepEqual(await database.get('SELECT @a AS a, @b AS b', { a: one, b: other }), { a: one, b: other });
      assert.deepEqual(await database.get('SELECT @a AS a, @b AS b', { b: one, a: other }), { a: other, b: one });
    }
  });
});

/** A type that nothing else tells. */
function typed(name: string, value: SqlValue | undefined): string {
  if (typeof value === 'string' || value === null) return `CAST(@${name} AS text)`;
  return typeof value === 'boolean' ? `CAST(@${name} AS boolean)` : `@${name}`;
}

/** UTF-8 has no lone surrogates. */
function stored(value: SqlValue): SqlValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}
