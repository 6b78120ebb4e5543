import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { randomBytes } from '../../../src/kernel/ids.ts';
import { type Secret, secret } from '../../../src/kernel/secret.ts';
import { createVault } from '../../../src/kernel/vault.ts';
import { StaleWrite } from '../../../src/store/port/errors.ts';
import {
  bytes,
  bytesOrNull,
  flag,
  json,
  number,
  numberOrNull,
  oneOf,
  sealed,
  sealedOrNull,
  table,
  text,
  textOrNull,
} from '../../../src/store/shared/table.ts';
import type { SqliteDatabase } from '../../../src/store/sqlite/driver/sqlite.ts';
import { openTestDatabase } from '../../support/store.ts';

type Thing = {
  readonly thingId: string;
  readonly text: string;
  readonly maybeText: string | null;
  readonly count: number;
  readonly maybeCount: number | null;
  readonly hash: Uint8Array;
  readonly maybeHash: Uint8Array | null;
  readonly isOn: boolean;
  readonly mode: 'fast' | 'slow';
  readonly listOfThings: readonly unknown[] | null;
  readonly apiSecret: Secret;
  readonly nextApiSecret: Secret | null;
};

const vault = createVault(randomBytes(32), randomBytes);
const THING = table<Thing>('thing', 'thingId', {
  thingId: text,
  text,
  maybeText: textOrNull,
  count: number,
  maybeCount: numberOrNull,
  hash: bytes,
  maybeHash: bytesOrNull,
  isOn: flag,
  mode: oneOf<'fast' | 'slow'>(),
  listOfThings: json<readonly unknown[] | null>(),
  apiSecret: sealed(vault),
  nextApiSecret: sealedOrNull(vault),
});

function open(t: TestContext): SqliteDatabase {
  const { database } = openTestDatabase(t);
  database.connection.exec(`
    CREATE TABLE thing (
      thing_id TEXT PRIMARY KEY, text TEXT NOT NULL, maybe_text TEXT, count INTEGER NOT NULL, maybe_count INTEGER,
      hash BLOB NOT NULL, maybe_hash BLOB, is_on INTEGER NOT NULL, mode TEXT NOT NULL, list_of_things TEXT,
      api_secret BLOB NOT NULL, next_api_secret BLOB
    ) STRICT;`);
  return database;
}

const read = async (db: SqliteDatabase, id: string): Promise<Thing> => {
  const row = await db.get(`SELECT ${THING.columns('x')} FROM thing AS x WHERE thing_id = @id`, { id });
  assert.ok(row !== undefined);
  return THING.read(row);
};
const revealed = ({ apiSecret, nextApiSecret, hash, maybeHash, ...thing }: Thing): unknown => ({
  ...thing,
  hash: Buffer.from(hash).toString('hex'),
  maybeHash: maybeHash === null ? null : Buffer.from(maybeHash).toString('hex'),
  apiSecret: apiSecret.reveal(),
  nextApiSecret: nextApiSecret?.reveal() ?? null,
});

const words = fc.string({ unit: 'grapheme', maxLength: 30 });
const safeInteger = fc.maxSafeInteger();
const things: fc.Arbitrary<Omit<Thing, 'thingId'>> = fc.record({
  text: words,
  maybeText: fc.option(words),
  count: safeInteger,
  maybeCount: fc.option(safeInteger),
  hash: fc.uint8Array(),
  maybeHash: fc.option(fc.uint8Array()),
  isOn: fc.boolean(),
  mode: fc.constantFrom('fast', 'slow'),
  listOfThings: fc.option(fc.array(words)),
  apiSecret: words.map(secret),
  nextApiSecret: fc.option(words.map(secret)),
});

const PLAIN: Thing = {
  thingId: 'a',
  text: '',
  maybeText: null,
  count: 0,
  maybeCount: null,
  hash: new Uint8Array(1),
  maybeHash: null,
  isOn: false,
  mode: 'fast',
  listOfThings: null,
  apiSecret: secret('first secret'),
  nextApiSecret: null,
};

describe('a table', () => {
  it('reads back every record unchanged after an insert and after an update', async (t) => {
    const db = open(t);
    let number = 0;
    await fc.assert(
      fc.asyncProperty(things, things, async (first, second) => {
        number += 1;
        const thingId = `thing ${number}`;
        await db.commit([THING.insert({ ...first, thingId })]);
        assert.deepEqual(revealed(await read(db, thingId)), revealed({ ...first, thingId }));
        await db.commit([THING.update({ ...second, thingId })]);
        assert.deepEqual(revealed(await read(db, thingId)), revealed({ ...second, thingId }));
      }),
      { numRuns: 50 },
    );
  });

  it('updates the one row with the key, and fails if there is none', async (t) => {
    const db = open(t);
    await db.commit([THING.insert(PLAIN), THING.insert({ ...PLAIN, thingId: 'b' })]);
    await db.commit([THING.update({ ...PLAIN, text: 'new' })]);
    assert.equal((await read(db, 'a')).text, 'new');
    assert.equal((await read(db, 'b')).text, '');
    await assert.rejects(db.commit([THING.update({ ...PLAIN, thingId: 'c' })]), StaleWrite);
  });

  it('seals secrets: the file contains nothing of their text', async (t) => {
    const db = open(t);
    await db.commit([THING.insert({ ...PLAIN, nextApiSecret: secret('second secret') })]);
    const row = db.connection.prepare('SELECT * FROM thing').get() as Record<string, unknown>;
    const held = Object.values(row).map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)));
    assert.ok(!held.join().includes('secret'));
    assert.equal(String((await read(db, 'a')).apiSecret), '[secret]');
  });

  const moves: readonly [what: string, sql: string][] = [
    ['to another row', "UPDATE thing SET api_secret = (SELECT api_secret FROM thing WHERE thing_id = 'b')"],
    ['to another column', 'UPDATE thing SET api_secret = next_api_secret'],
    ['into a row with another name', "UPDATE thing SET thing_id = 'c' WHERE thing_id = 'a'"],
  ];
  for (const [what, sql] of moves) {
    it(`does not read a sealed value that was moved ${what}`, async (t) => {
      const db = open(t);
      const nextApiSecret = secret('second secret');
      await db.commit([
        THING.insert({ ...PLAIN, nextApiSecret }),
        THING.insert({ ...PLAIN, thingId: 'b', nextApiSecret }),
      ]);
      db.connection.exec(sql);
      const moved = sql.includes("'c'") ? 'c' : 'a';
      await assert.rejects(read(db, moved), /^Error: thing\.(next_)?api_secret:[ac] was altered/);
    });
  }
});
