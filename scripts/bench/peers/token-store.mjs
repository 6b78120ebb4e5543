/**
 * The database of another authorization server, in SQLite as durable as Sallyport's: WAL, and
 * `synchronous=FULL`, so that a token is on the disk before it is answered.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';

export function openStore(folder, employee) {
  const database = new Database(join(folder, 'peer.db'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec(`
    CREATE TABLE token (id TEXT PRIMARY KEY, payload TEXT NOT NULL, expires_at INTEGER) STRICT;
    CREATE TABLE employee (user_id TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT;`);
  const insert = database.prepare('INSERT OR REPLACE INTO token (id, payload, expires_at) VALUES (?, ?, ?)');
  const find = database.prepare('SELECT payload FROM token WHERE id = ? AND expires_at > ?');
  const employees = database.prepare('SELECT document FROM employee WHERE user_id = ?');
  const remove = database.prepare('DELETE FROM token WHERE id = ?');
  database.prepare('INSERT INTO employee (user_id, document) VALUES (?, ?)').run(EMPLOYEE_ID, JSON.stringify(employee));
  return {
    save: (id, payload, expiresAt) => void insert.run(id, JSON.stringify(payload), expiresAt),
    find: (id) => {
      const row = find.get(id, Date.now());
      return row === undefined ? undefined : JSON.parse(row.payload);
    },
    remove: (id) => void remove.run(id),
    employee: (id) => {
      const row = employees.get(id);
      return row === undefined ? undefined : JSON.parse(row.document);
    },
  };
}

export const EMPLOYEE_ID = '01936f5e-0000-7000-8000-000000000000';
