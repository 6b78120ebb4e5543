import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openConnection, PAGES_KEPT_KIB } from '../../../src/store/sqlite/driver/connection.ts';
import { unusedFolder } from '../../support/command.ts';

/** As SQLite reports them: `synchronous` 2 is FULL. */
const PRAGMAS = {
  journal_mode: 'wal',
  synchronous: 2,
  foreign_keys: 1,
  trusted_schema: 0,
  secure_delete: 1,
  cache_size: -PAGES_KEPT_KIB,
};

for (const readOnly of [false, true]) {
  test(`the pragmas of a connection that ${readOnly ? 'only reads' : 'writes'}`, (t) => {
    const path = unusedFolder(t);
    const writer = openConnection(path);
    writer.exec('CREATE TABLE one (id INTEGER PRIMARY KEY) STRICT');
    const connection = readOnly ? openConnection(path, { readOnly }) : writer;
    const said = Object.keys(PRAGMAS).map((name) => [name, connection.pragma(name, { simple: true })]);
    assert.deepEqual(Object.fromEntries(said), PRAGMAS);
    connection.close();
    writer.close();
  });
}
