import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import type { AuditEntry } from '../../src/domain/audit.ts';
import { ConstraintViolation } from '../../src/store/port/errors.ts';
import { AUDIT_EXAMINED_AT_ONCE, AUDIT_KIND, auditStatement, auditStore } from '../../src/store/shared/audit.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import { onPostgres, onSqlite, openTestStore, type TestStore } from '../support/store.ts';
import { countTurns } from '../support/turns.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

type Chain = TestStore & { readonly entries: readonly AuditEntry[] };

/** Makes a store with `length` entries, written `perCommit` at a time. */
async function chainOf(t: TestContext, length: number, perCommit = 1): Promise<Chain> {
  const testStore = await openTestStore(t);
  const entries = Array.from({ length }, (_, n) => ({
    ...testStore.entry(),
    action: n % 2 === 0 ? ('user.update' as const) : ('webhook.stop' as const),
    changes: { name: { from: n, to: `ünïcödé "quoted" \\ \u0000 ${n}` } },
  }));
  for (let n = 0; n < length; n += perCommit) {
    await testStore.database.commit(entries.slice(n, n + perCommit).map(auditStatement));
  }
  return { ...testStore, entries };
}

describe('the audit log', () => {
  it('numbers entries without gaps in the order of their commits, and within a commit', async (t) => {
    const { store, rows, entries } = await chainOf(t, 50);
    const kept = await rows('SELECT number, id, previous_hash, hash FROM audit ORDER BY number');
    assert.deepEqual(
      kept.map(({ number, id }) => [number, id]),
      entries.map(({ id }, n) => [n + 1, id]),
    );
    assert.equal(kept[0]?.previous_hash, '');
    for (const [n, { previous_hash }] of kept.slice(1).entries()) assert.equal(previous_hash, kept[n]?.hash);
    assert.equal(await store.audit.firstBroken(), null);
  });

  it('stores entries unchanged and lists them newest first, page by page', async (t) => {
    const { store, entries } = await chainOf(t, 7);
    const newestFirst = entries.toReversed();
    const pages: unknown[] = [];
    for (let before: string | null = null; ; ) {
      const page = await store.audit.list(before, 3);
      if (page.length === 0) break;
      pages.push(page.map(({ number, ...entry }) => entry));
      before = page.at(-1)?.id ?? null;
    }
    assert.deepEqual(pages, [newestFirst.slice(0, 3), newestFirst.slice(3, 6), newestFirst.slice(6)]);
    const [first] = entries;
    assert.deepEqual(await store.audit.get(first?.id ?? ''), { ...first, number: 1 });
    assert.equal(await store.audit.get('unknown'), null);
    assert.deepEqual(await store.audit.list('unknown', 3), []);
  });

  onSqlite('reads every page and every entry through an index', async (t) => {
    const { sqlite: database, entries } = await chainOf(t, 3);
    const asked: string[] = [];
    const store = auditStore({
      ...database,
      get: (sql, params) => {
        asked.push(sql);
        return database.get(sql, params);
      },
      all: (sql, params) => {
        asked.push(sql);
        return database.all(sql, params);
      },
    });
    const id = entries[2]?.id ?? '';
    assert.equal((await store.get(id))?.number, 3);
    assert.equal((await store.list(null, 1)).length, 1);
    assert.equal((await store.list(id, 10)).length, 2);
    assert.equal((await store.list(null, 10, { kind: 'changes' })).length, 3);
    assert.deepEqual(await store.list(null, 10, { kind: 'sign-ins', customerId: 'acme' }), []);
    for (const sql of asked) {
      // Replaces every parameter with a number, because only the chosen index matters.
      const plan = database.connection.prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll(/@\w+/g, '+1')}`).all() as {
        detail: string;
      }[];
      for (const { detail } of plan) assert.match(detail, /^SEARCH/, sql);
    }
    assert.equal(asked.length, 9);
    for (const [at, index] of [
      [6, 'audit_kind'],
      [8, 'audit_customer_kind'],
    ] as const) {
      const plan = database.connection.prepare(`EXPLAIN QUERY PLAN ${asked[at]?.replaceAll(/@\w+/g, '+1')}`).all();
      assert.match(JSON.stringify(plan), new RegExp(`USING INDEX ${index} `));
    }
  });

  it('has indexes of changes and of people who come and go, by the list of these actions', () => {
    for (const file of ['schema.sql', 'src/store/postgres/schema.sql']) {
      const schema = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');
      assert.equal(schema.split(AUDIT_KIND).length, 3, file);
    }
  });

  it('reads a page of changes in one look, however many sign-ins came after them', async (t) => {
    const { store, database } = await chainOf(t, 3);
    const length = 5 * AUDIT_EXAMINED_AT_ONCE;
    const fill = `
      WITH RECURSIVE series (value) AS (SELECT 4 UNION ALL SELECT value + 1 FROM series WHERE value < ${length})
      INSERT INTO audit SELECT value, 'id ' || value, value, 'user:1', 'user.sign-in', 'user:1', 'acme', '{}', '', '' FROM series`;
    await database.commit([{ sql: fill, params: {} }]);
    const turn = countTurns(t);
    const before = turn();
    for (const filter of [{}, { customerId: 'acme' }]) {
      const numbers = async (kind: 'changes' | 'sign-ins', limit: number) =>
        (await store.audit.list(null, limit, { kind, ...filter })).map(({ number }) => number);
      assert.deepEqual(await numbers('sign-ins', 2), [length, length - 1]);
      assert.deepEqual(await numbers('changes', 10), 'customerId' in filter ? [] : [3, 2, 1]);
    }
    if (!onPostgres) assert.equal(turn() - before, 0);
  });

  it('searches in steps when few entries match, and lets other work run in between', async (t) => {
    const { store, database } = await chainOf(t, 1);
    const length = 3 * AUDIT_EXAMINED_AT_ONCE;
    const fill = `
      WITH RECURSIVE series (value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM series WHERE value < ${length})
      INSERT INTO audit SELECT value, 'id ' || value, value, 'service',
        CASE value % ${length - 2} WHEN 2 THEN 'rare.change' ELSE 'test.change' END, 'test:1', '', '{}', '', '' FROM series`;
    await database.commit([{ sql: fill, params: {} }]);
    const turn = countTurns(t);
    const before = turn();
    const found = await store.audit.list(null, 10, { action: 'rare.' });
    assert.deepEqual(
      found.map(({ number }) => number),
      [length, 2],
    );
    assert.ok(turn() - before >= 2, `${turn() - before} turns`);
    const next = await store.audit.list(`id ${length}`, 1, { action: 'rare.' });
    assert.deepEqual(
      next.map(({ number }) => number),
      [2],
    );
    assert.deepEqual(await store.audit.list('id 2', 10, { action: 'rare.' }), []);
  });

  it('searches the entries of a customer in steps too, by whatever filter, and stops at a narrow target of the whole log', async (t) => {
    const { store, database } = await chainOf(t, 1);
    const length = 6 * AUDIT_EXAMINED_AT_ONCE;
    const fill = `
      WITH RECURSIVE series (value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM series WHERE value < ${length})
      INSERT INTO audit SELECT value, 'id ' || value, value, 'service', CASE value WHEN 2 THEN 'rare.change' ELSE 'test.change' END,
        CASE value WHEN 2 THEN 'rare:1' ELSE 'test:1' END, CASE value % 2 WHEN 0 THEN 'acme' ELSE 'bolt' END, '{}', '', '' FROM series`;
    await database.commit([{ sql: fill, params: {} }]);
    const turn = countTurns(t);
    for (const [filter, turns] of [
      [{ customerId: 'acme', action: 'rare.' }, 2],
      [{ customerId: 'acme', target: 'rare:' }, 2],
      [{ customerId: 'acme', until: 3 }, 2],
      [{ target: 'rare:' }, 0],
      [{ target: 'rare:', action: 'rare.' }, 0],
    ] as const) {
      const before = turn();
      const found = await store.audit.list(null, 10, filter);
      assert.deepEqual(
        found.map(({ number }) => number),
        [2],
        JSON.stringify(filter),
      );
      if (turns > 0 || !onPostgres)
        assert.ok(turns > 0 ? turn() - before >= turns : turn() === before, JSON.stringify(filter));
    }
    assert.deepEqual(await store.audit.list(null, 10, { customerId: 'bolt', action: 'rare.' }), []);
    const some = await store.audit.list(null, 2, { target: 'test:', actor: 'service' });
    assert.deepEqual(
      some.map(({ number }) => number),
      [length, length - 1],
    );
  });

  it('tells changes from people who come and go, and knows the newest entry of an action about each target', async (t) => {
    const { store, entry } = await chainOf(t, 1);
    for (const [at, action] of [
      [10, 'user.sign-in'],
      [20, 'user.sign-in'],
      [30, 'user.sign-out'],
    ] as const)
      await store.audit.append({ ...entry(), at, action, target: 'user:grace' });
    const actionsOf = async (kind: 'changes' | 'sign-ins') =>
      (await store.audit.list(null, 10, { kind })).map(({ action }) => action);
    assert.deepEqual(await actionsOf('sign-ins'), ['user.sign-out', 'user.sign-in', 'user.sign-in']);
    assert.deepEqual(await actionsOf('changes'), ['user.update']);
    assert.deepEqual(
      [...(await store.audit.lastOf('user.sign-in', ['user:grace', 'user:nobody']))],
      [['user:grace', 20]],
    );
  });

  it('has no entry and no gap for a change that was rolled back', async (t) => {
    const { store, database, rows, entry } = await chainOf(t, 2);
    const taken = { sql: "INSERT INTO setting VALUES ('a', @value)", params: { value: Buffer.alloc(1) } };
    await database.commit([taken]);
    const [undone] = await Promise.allSettled([
      database.commit([auditStatement(entry()), taken]),
      database.commit([auditStatement(entry())]),
    ]);
    assert.ok(undone.status === 'rejected' && undone.reason instanceof ConstraintViolation);
    assert.deepEqual(await rows('SELECT number FROM audit'), [{ number: 1 }, { number: 2 }, { number: 3 }]);
    assert.equal(await store.audit.firstBroken(), null);
  });

  const tampering: readonly [what: string, sql: string][] = [
    ['another id', "UPDATE audit SET id = 'x' WHERE number = 4"],
    ['another time', 'UPDATE audit SET at = at + 1 WHERE number = 4'],
    ['another actor', "UPDATE audit SET actor = 'user:1' WHERE number = 4"],
    ['another action', "UPDATE audit SET action = 'thing.create' WHERE number = 4"],
    ['another target', "UPDATE audit SET target = 'test:2' WHERE number = 4"],
    ['another customer', "UPDATE audit SET customer_id = 'x' WHERE number = 4"],
    ['other changes', "UPDATE audit SET changes = '{}' WHERE number = 4"],
    ['the same changes written differently', `UPDATE audit SET changes = '{ "name":{} }' WHERE number = 4`],
    ['another previous hash', "UPDATE audit SET previous_hash = 'x' WHERE number = 4"],
    ['another hash', "UPDATE audit SET hash = 'x' WHERE number = 4"],
    [
      'its place taken by the entry before',
      'UPDATE audit SET number = 100 WHERE number = 4; UPDATE audit SET number = 4 WHERE number = 3; UPDATE ' +
        'audit SET number = 3 WHERE number = 100',
    ],
    ['been removed', 'DELETE FROM audit WHERE number = 4'],
    [
      'been removed, with the later ones moved up',
      'DELETE FROM audit WHERE number = 4; UPDATE audit SET number = number - 1 WHERE number > 4',
    ],
    [
      'a forged one put before it',
      'UPDATE audit SET number = -number WHERE number >= 4; UPDATE audit SET number = 1 - number WHERE number < ' +
        "0; INSERT INTO audit SELECT 4, 'forged', at, actor, action, target, customer_id, changes, previous_hash, " +
        'hash FROM audit WHERE number = 5',
    ],
  ];
  for (const [what, sql] of tampering) {
    it(`reveals an entry with ${what}`, async (t) => {
      const { store, database } = await chainOf(t, 8);
      await database.commit(sql.split('; ').map((one) => ({ sql: one, params: {} })));
      const broken = await store.audit.firstBroken();
      assert.ok(broken !== null && broken >= 3 && broken <= 5, `first broken: ${broken}`);
    });
  }

  onSqlite('reveals an entry with no longer any JSON in it', async (t) => {
    const { store, sqlite } = await chainOf(t, 8);
    sqlite.connection.pragma('ignore_check_constraints = ON');
    sqlite.connection.exec("UPDATE audit SET changes = 'x' WHERE number = 4");
    assert.equal(await store.audit.firstBroken(), 4);
  });

  it('reveals that the last entry has another number', async (t) => {
    const { store, database } = await chainOf(t, 8);
    await database.commit([{ sql: 'UPDATE audit SET number = 80 WHERE number = 8', params: {} }]);
    assert.equal(await store.audit.firstBroken(), 80);
  });

  it('is checked completely, in several reads', async (t) => {
    const { store, database } = await chainOf(t, 2500, 100);
    assert.equal(await store.audit.firstBroken(), null);
    await database.commit([{ sql: 'UPDATE audit SET at = 0 WHERE number = 2400', params: {} }]);
    assert.equal(await store.audit.firstBroken(), 2400);
  });
});
