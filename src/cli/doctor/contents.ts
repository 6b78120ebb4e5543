/** The checks of `sallyport doctor` on what the database holds. */

import type { Config } from '../../config/config.ts';
import { masterKeyPath } from '../../data/data.ts';
import { readMasterKey } from '../../data/master-key.ts';
import { PAGE_MAX } from '../../domain/limits.ts';
import { createIds, randomBytes, rowKeyTime } from '../../kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES } from '../../kernel/vault.ts';
import type { Database } from '../../store/port/database.ts';
import { CLOCK_BEHIND_MAX_MS } from '../../store/port/limits.ts';
import { everyRow, type ResourceStore } from '../../store/port/resource.ts';
import type { Store } from '../../store/port/store.ts';
import { userStore } from '../../store/shared/access/users.ts';
import { auditStore } from '../../store/shared/audit.ts';
import { settingStore } from '../../store/shared/settings.ts';
import { endpointStore } from '../../store/shared/webhooks/endpoints.ts';
import { keyStore } from '../../store/shared/webhooks/keys.ts';
import { webhookStore } from '../../store/shared/webhooks/webhooks.ts';
import { type Finding, finding, findings, judgeExpiry, ok, problem, warning } from './finding.ts';

type Examined = Pick<Store, 'audit' | 'users' | 'settings' | 'endpoints' | 'keys' | 'webhooks'>;

/** Audit log, clock, secrets, keys and certificates. Only reads. */
export async function examineContents(config: Config, db: Database, now: number): Promise<Finding[]> {
  const key = readMasterKey(masterKeyPath(config));
  // Most checks need no secret, so a missing key does not prevent them.
  const vault = createVault(key.ok ? key.key : new Uint8Array(MASTER_KEY_BYTES), randomBytes);
  const ids = createIds(() => now, randomBytes);
  const store: Examined = {
    audit: auditStore(db),
    users: userStore(db, ids),
    settings: settingStore(db, vault),
    endpoints: endpointStore(db, vault),
    keys: keyStore(db),
    webhooks: webhookStore(db),
  };
  const secrets = await finding('secrets', () =>
    key.ok ? examineSecrets(store) : problem('secrets', 'they cannot be read without the master key'),
  );
  return [
    await finding('audit log', () => examineAudit(store)),
    await finding('clock', () => examineClock(db, now)),
    secrets,
    ...(await findings('PGP keys', () => examineKeys(store, now))),
    // Certificates are read together with the encrypted values.
    ...(secrets.status === 'ok' ? await findings('client certificates', () => examineCertificates(store, now)) : []),
  ];
}

async function examineAudit(store: Examined): Promise<Finding> {
  const broken = await store.audit.firstBroken();
  return broken === null
    ? ok('audit log', 'the chain of entries is intact')
    : problem('audit log', `entry ${broken}, or the one before it, was changed or removed`);
}

const NEWEST = `
  SELECT greatest(coalesce((SELECT max(at) FROM audit), 0), coalesce((SELECT max(started_at) FROM attempt), 0)) AS at,
         coalesce((SELECT max(key) FROM event), 0) AS event_key`;

/** With a clock that was set back, tokens live longer and receivers refuse the dates of signatures. */
async function examineClock(db: Database, now: number): Promise<Finding> {
  const newest = await db.get(NEWEST, {});
  const recordedAt = Math.max(Number(newest?.at), rowKeyTime(Number(newest?.event_key)));
  const behindMs = recordedAt - now;
  return behindMs > CLOCK_BEHIND_MAX_MS
    ? problem('clock', `it is ${Math.round(behindMs / 1000)} s behind the newest record: correct it`)
    : ok('clock', `it shows ${new Date(now).toISOString()}`);
}

/** Decrypts every secret of every endpoint. */
async function examineSecrets(store: Examined): Promise<Finding> {
  if (await store.users.isEmpty()) {
    return problem('secrets', 'the first start was interrupted: run sallyport init or sallyport serve');
  }
  await store.settings.checkMasterKey();
  let endpoints = 0;
  for await (const _ of every(store.endpoints)) endpoints += 1;
  return ok(
    'secrets',
    `the master key decrypts all of them, including those of ${endpoints} ${endpoints === 1 ? 'endpoint' : 'endpoints'}`,
  );
}

async function examineKeys(store: Examined, now: number): Promise<Finding[]> {
  const check = 'PGP keys';
  const expiring: Finding[] = [];
  for await (const { customerId, name, expiresAt } of every(store.keys)) {
    if (expiresAt === null) continue;
    const used = (await store.webhooks.ofKey(customerId, name)).length > 0;
    const judged = judgeExpiry(check, `the key ${name}`, expiresAt, now);
    if (judged.status !== 'ok') expiring.push(used ? judged : warning(check, `${judged.detail}; no webhook uses it`));
  }
  return expiring.length > 0 ? expiring : [ok(check, 'none expires soon')];
}

async function examineCertificates(store: Examined, now: number): Promise<Finding[]> {
  const check = 'client certificates';
  const expiring: Finding[] = [];
  for await (const { name, clientCertificateExpiresAt: expiresAt } of every(store.endpoints)) {
    if (expiresAt === null) continue;
    const judged = judgeExpiry(check, `the client certificate of endpoint ${name}`, expiresAt, now);
    if (judged.status !== 'ok') expiring.push(judged);
  }
  return expiring.length > 0 ? expiring : [ok(check, 'none expires soon')];
}

function every<T extends { readonly id: string }>({ list }: Pick<ResourceStore<T>, 'list'>): AsyncGenerator<T> {
  return everyRow(PAGE_MAX, (after) => list(after, PAGE_MAX));
}
