/** The checks of `sallyport doctor`: files, permissions, disk and certificates, then the database. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Config, readSettingFile } from '../config/config.ts';
import { masterKeyPath } from '../data/data.ts';
import { DATABASE_FILE, databaseFiles, databasePath, FIRST_START_FILE } from '../data/data-folder.ts';
import { LOCK_FILE } from '../data/folder-lock.ts';
import { readMasterKey } from '../data/master-key.ts';
import { createIds, randomBytes, rowKeyTime } from '../kernel/ids.ts';
import {
  CLOCK_BEHIND_MAX_MS,
  DISK_FREE_LOW_BYTES,
  DISK_FREE_MIN_BYTES,
  EXPIRY_WARNING_MS,
  PAGE_MAX,
} from '../kernel/limits/limits.ts';
import { exposedMode, ownerOf, strangerText, userText } from '../kernel/private-file.ts';
import { createVault, MASTER_KEY_BYTES } from '../kernel/vault.ts';
import { readAuthorities } from '../outbound/tls.ts';
import { createStore } from '../store/sql/store.ts';
import { damages, RESTORE_ADVICE, tellsDamage } from '../store/sqlite/damage.ts';
import { brokenReferences, examineSchema } from '../store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';
import type { Store } from '../store/store.ts';

export type Finding = {
  /** The subject of the check, in a word or two. */
  readonly check: string;
  /** A problem is wrong now. A warning will become wrong, or may be intended. */
  readonly status: 'ok' | 'warning' | 'problem';
  /** The result, and how to fix it. */
  readonly detail: string;
};

export async function examineFiles(config: Config, now: number): Promise<Finding[]> {
  return [
    await finding('data folder', () => examineFolder(config)),
    await finding('file owners', () => examineOwners(config)),
    await finding('file permissions', () => examinePermissions(config)),
    await finding('master key', () => examineMasterKey(config)),
    await finding('disk space', () => examineDisk(config)),
    ...(config.caFile === null ? [] : [await finding('CA file', () => examineAuthorities(config.caFile ?? '', now))]),
    ...(config.tlsCertFile === null ? [] : [await finding('TLS certificate', () => examineTls(config, now))]),
  ];
}

function examineFolder({ dataDir }: Config): Finding {
  const stat = statSync(dataDir, { throwIfNoEntry: false });
  if (stat === undefined)
    return problem('data folder', `${dataDir} does not exist: run sallyport init or sallyport serve`);
  if (!stat.isDirectory()) return problem('data folder', `${dataDir} is not a folder`);
  accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  return ok('data folder', dataDir);
}

/** The permissions of the key file are checked with the key. */
function examinePermissions(config: Config): Finding {
  const check = 'file permissions';
  const files = databaseFiles(config).filter((path) => path !== config.dataDir && exists(path));
  const exposed = files.filter((path) => exposedMode(path) !== null);
  if (exposed.length > 0) {
    const list = exposed.join(' ');
    return problem(check, `other users can access ${list}; run: chmod 600 ${list}`);
  }
  const mode = exists(config.dataDir) ? exposedMode(config.dataDir) : null;
  if (mode === null) return ok(check, 'only the owner can access the data');
  const advice = `other users can access the folder ${config.dataDir} (mode ${mode}); run: chmod 700 ${config.dataDir}`;
  return /[2367]/.test(mode.slice(-2)) ? problem(check, advice) : warning(check, advice);
}

/**
 * The service runs as the owner of the folder, and may not be able to open files of other users. A file that is not part of the data,
 * such as a backup, is a warning only.
 */
function examineOwners(config: Config): Finding {
  const check = 'file owners';
  const { dataDir } = config;
  const owner = ownerOf(dataDir);
  if (owner === null) return warning(check, `the owner of ${dataDir} cannot be determined`);
  const strangers = readdirSync(dataDir)
    .sort()
    .flatMap((name) => {
      const path = join(dataDir, name);
      const uid = ownerOf(path)?.uid ?? owner.uid;
      return uid === owner.uid ? [] : [{ path, uid, isService: isServices(config, name) }];
    });
  if (strangers.length === 0) return ok(check, `everything belongs to the owner of the folder, ${userText(owner.uid)}`);
  const list = strangers.map(({ path }) => path).join(' ');
  const told = strangers.map(({ path, uid }) => `${path} belongs to ${userText(uid)}`).join(', ');
  const advice = `run as root: chown ${owner.uid}:${owner.gid} ${list}`;
  // A mounted volume may belong to root and contain the files of the service.
  const [other] = new Set(strangers.map(({ uid }) => uid));
  const instead =
    owner.uid === 0 ? `, or, if the service runs as ${userText(other ?? 0)}: chown ${other} ${dataDir}` : '';
  const text = `${told}, the folder to ${userText(owner.uid)}; ${advice}${instead}`;
  return strangers.some(({ isService }) => isService) ? problem(check, text) : warning(check, text);
}

function isServices(config: Config, name: string): boolean {
  const own = [LOCK_FILE, FIRST_START_FILE, basename(masterKeyPath(config))];
  return name.startsWith(DATABASE_FILE) || own.includes(name);
}

function examineMasterKey(config: Config): Finding {
  const path = masterKeyPath(config);
  const verdict = readMasterKey(path);
  return verdict.ok ? ok('master key', path) : problem('master key', verdict.description);
}

function examineDisk({ dataDir }: Config): Finding {
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  const detail = `${Math.floor(free / (1024 * 1024))} MiB are free`;
  if (free < DISK_FREE_MIN_BYTES) return problem('disk space', `${detail}: make room before writes fail`);
  return free < DISK_FREE_LOW_BYTES ? warning('disk space', detail) : ok('disk space', detail);
}

function examineAuthorities(path: string, now: number): Finding {
  const authorities = readAuthorities(readSettingFile('caFile', path)).map((pem) => new X509Certificate(pem));
  const expired = authorities.filter(({ validTo }) => Date.parse(validTo) <= now);
  if (expired.length > 0) {
    return warning('CA file', `expired: ${expired.map(({ subject }) => subject.replaceAll('\n', ', ')).join('; ')}`);
  }
  return ok('CA file', `${authorities.length} ${authorities.length === 1 ? 'authority' : 'authorities'} in ${path}`);
}

function examineTls({ tlsCertFile, tlsKeyFile }: Config, now: number): Finding {
  const check = 'TLS certificate';
  const certificate = new X509Certificate(readSettingFile('tlsCertFile', tlsCertFile ?? ''));
  const key = createPrivateKey(readSettingFile('tlsKeyFile', tlsKeyFile ?? ''));
  if (!certificate.checkPrivateKey(key)) return problem(check, `${tlsKeyFile} is not the key of ${tlsCertFile}`);
  return judgeExpiry(check, tlsCertFile ?? '', Date.parse(certificate.validTo), now);
}

/** The finding for anything that expires and is in use. */
function judgeExpiry(check: string, what: string, expiresAt: number, now: number): Finding {
  const day = new Date(expiresAt).toISOString().slice(0, 10);
  if (expiresAt <= now) return problem(check, `${what} expired on ${day}`);
  return expiresAt - now < EXPIRY_WARNING_MS
    ? warning(check, `${what} expires on ${day}`)
    : ok(check, `${what} is valid until ${day}`);
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function ok(check: string, detail: string): Finding {
  return { check, status: 'ok', detail };
}

function warning(check: string, detail: string): Finding {
  return { check, status: 'warning', detail };
}

function problem(check: string, detail: string): Finding {
  return { check, status: 'problem', detail };
}

/** The findings of a check, or a problem if it throws. */
async function findings(check: string, look: () => Finding[] | Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [problem(check, (error as Error).message)];
  }
}

/** Like `findings`, for a check with one result. */
async function finding(check: string, look: () => Finding | Promise<Finding>): Promise<Finding> {
  const [found] = await findings(check, async () => [await look()]);
  return found as Finding;
}

export async function examineDatabase(config: Config, now: number): Promise<Finding[]> {
  const path = databasePath(config);
  if (!existsSync(path)) return [problem('database', `${path} does not exist: run sallyport init or sallyport serve`)];
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
  // The checks below must not write.
  db.connection.pragma('query_only = ON');
  const key = readMasterKey(masterKeyPath(config));
  // Most checks need no secret, so a missing key does not prevent them.
  const vault = createVault(key.ok ? key.key : new Uint8Array(MASTER_KEY_BYTES), randomBytes);
  const store = createStore(
    db,
    vault,
    createIds(() => now, randomBytes),
  );
  const secrets = await finding('secrets', () =>
    key.ok ? examineSecrets(store) : problem('secrets', 'they cannot be read without the master key'),
  );
  return [
    schema,
    await finding('integrity', () => examineIntegrity(db)),
    await finding('foreign keys', () => examineForeignKeys(db)),
    await finding('audit log', () => examineAudit(store)),
    await finding('clock', () => examineClock(db, now)),
    secrets,
    ...(await findings('PGP keys', () => examineKeys(store, now))),
    // Certificates are read together with the encrypted values.
    ...(secrets.status === 'ok' ? await findings('client certificates', () => examineCertificates(store, now)) : []),
  ];
}

function examineVersion(db: SqliteDatabase): Finding {
  const verdict = examineSchema(db);
  if (!verdict.ok) return problem('schema', verdict.description);
  if (verdict.state === 'older')
    return problem('schema', 'the schema is from an older version: sallyport serve migrates it');
  return verdict.state === 'empty'
    ? problem('schema', 'the first start was interrupted: run sallyport init or sallyport serve')
    : ok('schema', 'the schema is current');
}

/** Reads the whole file, which takes some seconds per gigabyte. */
function examineIntegrity(db: SqliteDatabase): Finding {
  const damaged = damages(db);
  return damaged.length === 0
    ? ok('integrity', 'the database file is intact')
    : problem('integrity', `the database file is damaged: ${damaged.join('; ')}`);
}

function examineForeignKeys(db: SqliteDatabase): Finding {
  const broken = brokenReferences(db);
  return broken.length === 0
    ? ok('foreign keys', 'all references are valid')
    : problem('foreign keys', `rows refer to missing rows: ${broken.join(', ')}`);
}

async function examineAudit(store: Store): Promise<Finding> {
  const broken = await store.audit.firstBroken();
  return broken === null
    ? ok('audit log', 'the chain of entries is intact')
    : problem('audit log', `entry ${broken}, or the one before it, was changed or removed`);
}

const NEWEST = `
  SELECT max(coalesce((SELECT max(at) FROM audit), 0), coalesce((SELECT max(started_at) FROM attempt), 0)) AS at,
         coalesce((SELECT max(key) FROM event), 0) AS event_key`;

/** With a clock that was set back, tokens live longer and receivers refuse the dates of signatures. */
function examineClock({ connection }: SqliteDatabase, now: number): Finding {
  const newest = connection.prepare(NEWEST).get() as { at: number; event_key: number };
  const recordedAt = Math.max(newest.at, rowKeyTime(newest.event_key));
  const behindMs = recordedAt - now;
  return behindMs > CLOCK_BEHIND_MAX_MS
    ? problem('clock', `it is ${Math.round(behindMs / 1000)} s behind the newest record: correct it`)
    : ok('clock', `it shows ${new Date(now).toISOString()}`);
}

/** Decrypts every secret of every endpoint. */
async function examineSecrets(store: Store): Promise<Finding> {
  if (await store.users.isEmpty()) {
    return problem('secrets', 'the first start was interrupted: run sallyport init or sallyport serve');
  }
  await store.settings.checkMasterKey();
  let endpoints = 0;
  for await (const _ of every(store.endpoints)) endpoints += 1;
  return ok('secrets', `the master key decrypts all of them, including those of ${endpoints} endpoints`);
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
