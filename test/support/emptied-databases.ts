/**
 * Databases of PostgreSQL that the tests of a process use one after another. Each test finds the rows of the template and nothing else, in
 * tables without free space. Emptying a database takes a fraction of making one, and its connections stay open with their plans.
 */
import { after, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { openPostgres, type PostgresDatabase } from '../../src/store/postgres/driver/postgres.ts';
import { cleanUp } from './cleanup.ts';
import {
  createDatabase,
  dropDatabase,
  type Fill,
  newDatabase,
  openTestPostgres,
  templateOf,
  withNothing,
} from './postgres.ts';

type Emptied = {
  readonly url: string;
  /** Empties it. Null if each test opens the database itself: it may rename it, which needs a database without connections. */
  readonly client: pg.Client | null;
  /** Opened once for all tests; null if each test opens the database itself. */
  readonly database: PostgresDatabase | null;
  /** Brings back the rows of the template and the next numbers of its sequences. */
  readonly refill: string;
  /** The texts of all statements. Each connection keeps those that it ran. */
  readonly texts: Set<string>;
};

/** Some tests write values into the texts, and a server's process needs up to 20 kB for each. */
const TEXTS_MAX = 3000;

/** By their template. */
const free = new Map<string, Emptied[]>();
const all = new Set<Emptied>();

// Open connections would keep the process alive.
after(() => Promise.all([...all].map(end)));

/** PgBouncer's connections stay open, so that nobody could tell whether they are at work. */
const isPooled = process.env.TEST_POOLER !== undefined;

/** The URL of a copy of another database, until the test ends. The test closes all of its connections. */
export async function emptiedDatabase(t: TestContext, template: string): Promise<string> {
  return isPooled ? newDatabase(t, template) : (await take(t, template, false)).url;
}

/** Like `openTestPostgres`, for tests that do not look at plans and files. */
export async function openEmptied(
  t: TestContext,
  now: number,
  fill: Fill = withNothing,
): Promise<{ readonly url: string; readonly database: PostgresDatabase }> {
  if (isPooled) return openTestPostgres(t, now, fill);
  const { url, database, texts } = await take(t, await templateOf(now, fill), true);
  if (database === null) throw new Error('it is not open');
  const lent = lend(database, texts);
  cleanUp(t, async () => {
    await lent.close();
    // A notification of the last turn goes out before the next test.
    await nextTurn();
    await database.all('SELECT 1 AS one', {});
  });
  return { url, database: lent };
}

async function take(t: TestContext, template: string, isOpen: boolean): Promise<Emptied> {
  const key = `${template} ${isOpen}`;
  const known = free.get(key) ?? [];
  free.set(key, known);
  const emptied = known.pop() ?? (await make(template, isOpen));
  cleanUp(t, async () => {
    const isUsable = emptied.texts.size < TEXTS_MAX && (await empty(emptied).catch(() => false));
    if (isUsable) known.push(emptied);
    else {
      await end(emptied);
      await dropDatabase(emptied.url);
    }
  });
  return emptied;
}

async function end(emptied: Emptied): Promise<void> {
  all.delete(emptied);
  await emptied.database?.close();
  await emptied.client?.end();
}

/** A database whose schema was changed is not used again. */
const NOTE_CHANGES = `
  CREATE SCHEMA emptied;
  CREATE TABLE emptied.change (command text);
  CREATE FUNCTION emptied.note() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
  BEGIN
    INSERT INTO emptied.change VALUES (TG_TAG);
  END $$;
  CREATE EVENT TRIGGER note_change ON ddl_command_end EXECUTE FUNCTION emptied.note()`;

/** Names of tables and partitions of the first schema of the search path that have a page. */
const FILLED = `
  SELECT coalesce(array_agg(quote_ident(relname) ORDER BY relname), '{}') FROM pg_class
  WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND pg_relation_size(oid) > 0`;

async function make(template: string, isOpen: boolean): Promise<Emptied> {
  const url = await createDatabase(template);
  const client = await connected(url);
  const found = await client.query<{ filled: readonly string[] }>(`SELECT (${FILLED}) AS filled`);
  const inserts: string[] = [];
  for (const table of found.rows[0]?.filled ?? []) {
    const { rows } = await client.query<{ sql: string }>(
      `SELECT format('INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT (CAST(%L AS ${table})).*', t) AS sql FROM ${table} AS t`,
    );
    inserts.push(...rows.map(({ sql }) => sql));
  }
  const sequences = await client.query<{ sql: string }>(`
    SELECT format('SELECT setval(%L, %s, %L)', format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value),
      last_value IS NOT NULL) AS sql
    FROM pg_sequences`);
  await client.query(NOTE_CHANGES);
  const refill = unchecked([...inserts, ...sequences.rows.map(({ sql }) => sql)]);
  const database = isOpen ? await openPostgres({ connection: { connectionString: url } }) : null;
  if (!isOpen) await client.end();
  const emptied = { url, client: isOpen ? client : null, database, refill, texts: new Set<string>() };
  all.add(emptied);
  return emptied;
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // It is noticed with the next statement.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** One transaction without triggers and foreign keys. */
function unchecked(statements: readonly string[]): string {
  return ['BEGIN', 'SET LOCAL session_replication_role = replica', ...statements, 'COMMIT'].join(';\n');
}

/** Returns false if it cannot be used again: its schema was changed, or a connection of the test is still at work. */
async function empty(emptied: Emptied): Promise<boolean> {
  const client = emptied.client ?? (await connected(emptied.url));
  try {
    return await emptyBy(client, emptied);
  } finally {
    if (client !== emptied.client) await client.end();
  }
}

async function emptyBy(client: pg.Client, { database, refill }: Emptied): Promise<boolean> {
  const { rows } = await client.query<{ isUsable: boolean; filled: readonly string[] }>(`
    SELECT NOT EXISTS (SELECT FROM emptied.change) AND NOT EXISTS (
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        ${database === null ? '' : "AND state <> 'idle'"}) AS "isUsable",
      (${FILLED}) AS filled`);
  const [found] = rows;
  if (found?.isUsable !== true) return false;
  await client.query(unchecked(found.filled.map((table) => `DELETE FROM ${table}`)));
  // Rows come in the order in which they were written, as in a new table.
  await client.query(`VACUUM (TRUNCATE ON, INDEX_CLEANUP ON, PARALLEL 0) ${found.filled.join(', ')}`);
  await client.query(refill);
  return true;
}

/** The database for one test: after `close` it takes and tells nothing more, as if its connections were closed. */
function lend(shared: PostgresDatabase, texts: Set<string>): PostgresDatabase {
  const working = new Set<Promise<unknown>>();
  const listening: (() => void)[] = [];
  const before = shared.commits();
  let isClosed = false;
  const during = <T>(begin: () => T | Promise<T>): Promise<T> => {
    if (isClosed) return Promise.reject(new RangeError('the database is not open'));
    const work = Promise.resolve(begin());
    const over = (): void => void working.delete(work);
    working.add(work);
    work.then(over, over);
    return work;
  };
  return {
    get: (sql, params) => {
      texts.add(sql);
      return during(() => shared.get(sql, params));
    },
    all: (sql, params) => {
      texts.add(sql);
      return during(() => shared.all(sql, params));
    },
    commit: (statements, ...more) => {
      for (const { sql } of statements) texts.add(sql);
      return during(() => shared.commit(statements, ...more));
    },
    confirm: (readSinceMs) => during(() => shared.confirm(readSinceMs)),
    forgetOverwritten: () => during(shared.forgetOverwritten),
    run: (sql) => during(() => shared.run(sql)),
    commits: () => shared.commits() - before,
    onCommit: (listener) =>
      shared.onCommit(() => {
        if (!isClosed) listener();
      }),
    listen: (channel, onMessage) => {
      const ended = shared.listen(channel, onMessage);
      listening.push(ended);
      return ended;
    },
    notify: (channel, payload) => {
      if (!isClosed) shared.notify(channel, payload);
    },
    close: async () => {
      isClosed = true;
      for (const ended of listening) ended();
      while (working.size > 0) await Promise.allSettled(working);
    },
  };
}
