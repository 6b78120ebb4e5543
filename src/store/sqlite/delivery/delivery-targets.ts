/** A webhook with everything that a delivery needs, read for every attempt. */
import type { DeliveryTarget } from '../../../delivery/batch.ts';
import { TARGETS_CACHED } from '../../../kernel/limits/delivery.ts';
import { createLru } from '../../../kernel/lru.ts';
import type { Vault } from '../../../kernel/vault.ts';
import type { Endpoint } from '../../../webhooks/endpoint.ts';
import type { PgpKey, WebhookConfiguration } from '../../../webhooks/webhook.ts';
import type { Database } from '../driver/database.ts';
import { endpointTable } from '../webhooks/endpoints.ts';
import { PGP_KEY } from '../webhooks/keys.ts';
import { PROGRESS, WEBHOOK } from '../webhooks/webhooks.ts';

/** The settings, with their secrets unsealed. `version` changes with any of them. */
type Settings = {
  readonly version: string;
  readonly configuration: WebhookConfiguration;
  readonly endpoint: Endpoint;
  readonly key: PgpKey | null;
};

// Three look-ups by primary key: the webhook's progress, and the version of its settings.
const CURRENT = `
  SELECT ${PROGRESS.columns('p')},
         w.id || ' ' || w.updated_at || ' ' || e.id || ' ' || e.updated_at || ' ' || coalesce(k.id || ' ' || k.updated_at, '') AS version
  FROM webhook AS w
  JOIN webhook_progress AS p ON p.webhook_number = w.number
  JOIN endpoint AS e ON e.id = w.endpoint_id
  LEFT JOIN pgp_key AS k ON k.name = w.encryption_key_name
  WHERE w.number = @webhookNumber`;
const CONFIGURATION = `SELECT ${WEBHOOK.columns()} FROM webhook WHERE number = @webhookNumber`;
const KEY = `SELECT ${PGP_KEY.columns()} FROM pgp_key WHERE name = @name`;

/**
 * Returns the current target of a webhook, or null if there is none. Unsealing the secrets takes 40 µs, so settings are cached until the
 * version of a row changes: every write changes its `updated_at`.
 */
export function targetReader(db: Database, vault: Vault): (webhookNumber: number) => Promise<DeliveryTarget | null> {
  const endpoints = endpointTable(vault);
  const endpointSql = `SELECT ${endpoints.columns()} FROM endpoint WHERE id = @id`;
  const cached = createLru<number, Settings>({ max: TARGETS_CACHED });

  const readSettings = async (webhookNumber: number, version: string): Promise<Settings | null> => {
    const row = await db.get(CONFIGURATION, { webhookNumber });
    if (row === undefined) return null;
    const configuration = WEBHOOK.read(row);
    const name = configuration.encryptionKeyName;
    const endpoint = await db.get(endpointSql, { id: configuration.endpointId });
    const key = name === null ? undefined : await db.get(KEY, { name });
    if (endpoint === undefined) return null;
    const settings = {
      version,
      configuration,
      endpoint: endpoints.read(endpoint),
      key: key === undefined ? null : PGP_KEY.read(key),
    };
    cached.set(webhookNumber, settings);
    return settings;
  };

  return async (webhookNumber) => {
    const row = await db.get(CURRENT, { webhookNumber });
    if (row === undefined) return null;
    const version = String(row.version);
    const known = cached.get(webhookNumber);
    const settings = known?.version === version ? known : await readSettings(webhookNumber, version);
    if (settings === null) return null;
    const { configuration, endpoint, key } = settings;
    return { webhook: { ...configuration, progress: PROGRESS.read(row) }, endpoint, key };
  };
}
