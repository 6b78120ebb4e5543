/** What the doctor looks at inside the database: that it is whole, untampered and readable, and what in it expires. */
import { existsSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { databaseFiles, databasePath, masterKeyPath } from '../data/data-folder.ts';
import { readMasterKey } from '../data/master-key.ts';
import { createIds, rowKeyTime } from '../kernel/ids.ts';
import { CLOCK_BEHIND_MAX_MS, PAGE_MAX } from '../kernel/limits/limits.ts';
import { strangerText } from '../kernel/private-file.ts';
import { randomBytes } from '../kernel/random.ts';
import { createVault, MASTER_KEY_BYTES } from '../kernel/vault.ts';
import { damages, RESTORE_ADVICE, tellsDamage } from '../store/sqlite/damage.ts';
import { brokenReferences } from '../store/sqlite/driver/migrations.ts';
import { examineSchema } from '../store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';
import { createStore } from '../store/sqlite/store.ts';
import type { Store } from '../store/store.ts';
import { judgeExpiry } from './doctor-files.ts';
import { type Finding, finding, findings, ok, problem, warning } from './doctor-finding.ts';

export async function examineDatabase(config: Config, now: number): Promise<Finding[]> {
  const path = databasePath(config);
  if (!existsSync(path)) return [problem('database', `there is no ${path}: run sallyport init, or sallyport serve`)];
  let db: SqliteDatabase;
  try {
    db = openSqlite(path);
  } catch (error) {
    const stranger = strangerText(databaseFiles(config));
    const advice = tellsDamage(error) ? `: ${RESTORE_ADVICE}` : '';
    return [problem('database', `${path} cannot be opened: ${(error as Error).message}${stranger}${advice}`)];
  }
  try {
    return await examineOpened(config, db, now);
  } finally {
    await db.close();
  }
}

async function examineOpened(config: Config, db: SqliteDatabase, now: number): Promise<Finding[]> {
  const schema = await finding('schema', () => examineVersion(db));
  if (schema.status === 'problem') return [schema];
  // Nothing below writes; this makes sure of it.
  db.connection.pragma('query_only = ON');
  const key = readMasterKey(masterKeyPath(config));
  // What needs no secret is looked at all the same.
  const vault = createVault(key.ok ? key.key : new Uint8Array(MASTER_KEY_BYTES), randomBytes);
  const store = createStore(
    db,
    vault,
    createIds(() => now, randomBytes),
  );
  const secrets = await finding('secrets', () =>
    key.ok ? examineSecrets(store) : problem('secrets', 'there is no key to read them with'),
  );
  return [
    schema,
    await finding('integrity', () => examineIntegrity(db)),
    await finding('foreign keys', () => examineForeignKeys(db)),
    await finding('audit log', () => examineAudit(store)),
    await finding('clock', () => examineClock(db, now)),
    secrets,
    ...(await findings('PGP keys', () => examineKeys(store, now))),
    // They are read along with the sealed values.
    ...(secrets.status === 'ok' ? await findings('client certificates', () => examineCertificates(store, now)) : []),
  ];
}

function examineVersion(db: SqliteDatabase): Finding {
  const verdict = examineSchema(db);
  if (!verdict.ok) return problem('schema', verdict.description);
  if (verdict.state === 'older')
    return problem('schema', 'the schema is of an older version: sallyport serve migrates it');
  return verdict.state === 'empty'
    ? problem('schema', 'the first start was cut short: run sallyport init, or sallyport serve')
    : ok('schema', 'the schema is of this version');
}

/** Reads the whole file: some seconds a gigabyte. */
function examineIntegrity(db: SqliteDatabase): Finding {
  const damaged = damages(db);
  return damaged.length === 0
    ? ok('integrity', 'the database file is whole')
    : problem('integrity', `the database file is damaged: ${damaged.join('; ')}`);
}

function examineForeignKeys(db: SqliteDatabase): Finding {
  const astray = brokenReferences(db);
  return astray.length === 0
    ? ok('foreign keys', 'every reference leads somewhere')
    : problem('foreign keys', `references lead nowhere: ${astray.join(', ')}`);
}

async function examineAudit(store: Store): Promise<Finding> {
  const broken = await store.audit.firstBroken();
  return broken === null
    ? ok('audit log', 'the chain of entries is unbroken')
    : problem('audit log', `entry ${broken} or the one before it was altered or removed`);
}

const NEWEST = `
  SELECT max(coalesce((SELECT max(at) FROM audit), 0), coalesce((SELECT max(started_at) FROM attempt), 0)) AS at,
         coalesce((SELECT max(key) FROM event), 0) AS event_key`;

/** A clock that was set back gives tokens a longer life and signs with dates that receivers refuse. */
function examineClock({ connection }: SqliteDatabase, now: number): Finding {
  const newest = connection.prepare(NEWEST).get() as { at: number; event_key: number };
  const recordedAt = Math.max(newest.at, rowKeyTime(newest.event_key));
  const behindMs = recordedAt - now;
  return behindMs > CLOCK_BEHIND_MAX_MS
    ? problem('clock', `it is ${Math.round(behindMs / 1000)} s behind the newest record: set it right`)
    : ok('clock', `it shows ${new Date(now).toISOString()}`);
}

/** Opens every sealed value of every endpoint. */
async function examineSecrets(store: Store): Promise<Finding> {
  if (await store.users.isEmpty()) {
    return problem('secrets', 'the first start was cut short: run sallyport init, or sallyport serve');
  }
  await store.settings.checkMasterKey();
  let endpoints = 0;
  for await (const _ of every(store.endpoints)) endpoints += 1;
  return ok('secrets', `the master key opens them, those of ${endpoints} endpoints too`);
}

async function examineKeys(store: Store, now: number): Promise<Finding[]> {
  const check = 'PGP keys';
  const expiring: Finding[] = [];
  for await (const { name, expiresAt } of every(store.keys)) {
    if (expiresAt === null) continue;
    const used = (await store.webhooks.ofKey(name)).length > 0;
    const judged = judgeExpiry(check, `the key ${name}`, expiresAt, now);
    if (judged.status !== 'ok') expiring.push(used ? judged : warning(check, `${judged.detail}; no webhook uses it`));
  }
  return expiring.length > 0 ? expiring : [ok(check, 'none expires soon')];
}

async function examineCertificates(store: Store, now: number): Promise<Finding[]> {
  const check = 'client certificates';
  const expiring: Finding[] = [];
  for await (const { name, clientCertificateExpiresAt: expiresAt } of every(store.endpoints)) {
    if (expiresAt === null) continue;
    const judged = judgeExpiry(check, `the client certificate of endpoint ${name}`, expiresAt, now);
    if (judged.status !== 'ok') expiring.push(judged);
  }
  return expiring.length > 0 ? expiring : [ok(check, 'none expires soon')];
}

type Listed<T> = { list(after: string, limit: number): Promise<T[]> };

async function* every<T extends { readonly id: string }>(table: Listed<T>): AsyncGenerator<T> {
  for (let after = ''; ; ) {
    const page = await table.list(after, PAGE_MAX);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}
