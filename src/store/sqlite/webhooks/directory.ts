/** Webhooks and endpoints as people browse them: newest first, filtered, each with what a list shows beside it. Reads only. */

import type { Vault } from '../../../kernel/vault.ts';
import type { DirectoryStore, WebhookListing } from '../../directory.ts';
import { conditions } from '../delivery/conditions.ts';
import { OLDEST_WAITING_AT, RECORDS_WAITING } from '../delivery/queues.ts';
import type { Database, Row } from '../driver/database.ts';
import { endpointTable } from './endpoints.ts';
import { PROGRESS, readWebhook, WEBHOOK } from './webhooks.ts';

const LISTED = `
  SELECT ${WEBHOOK.columns('w')}, ${PROGRESS.columns('p')}, ${RECORDS_WAITING} AS waiting, n.name AS endpoint_name, n.enabled AS endpoint_enabled
  FROM webhook AS w
  JOIN webhook_progress AS p ON p.webhook_number = w.number
  JOIN endpoint AS n ON n.id = w.endpoint_id`;
const OLDEST = `SELECT ${OLDEST_WAITING_AT} AS at FROM webhook_progress AS p WHERE p.webhook_number = @webhookNumber`;
// Of an index that holds all it reads. Bounded, for the page of a webhook asks again and again.
const DEAD = `
  SELECT count(*) AS batches, coalesce(sum(last_offset - first_offset + 1), 0) AS records
  FROM (SELECT first_offset, last_offset FROM batch INDEXED BY batch_dead
        WHERE webhook_number = @webhookNumber AND state = 'dead' LIMIT @limit)`;
const NAMES = 'SELECT id, name, enabled, token_challenge, verified FROM endpoint ORDER BY lower(name), id LIMIT @limit';
const STATES = 'SELECT state, count(*) AS webhooks FROM webhook_progress GROUP BY state';

// Webhooks and endpoints are few, thousands at most: a filter goes through them.
const WEBHOOK_CONDITIONS: Readonly<Record<string, string>> = {
  state: 'p.state = @state',
  endpointId: 'w.endpoint_id = @endpointId',
  keyName: 'w.encryption_key_name = @keyName',
  text: 'instr(lower(w.name), lower(@text)) > 0',
  before: 'w.id < @before',
};
const ENDPOINT_CONDITIONS: Readonly<Record<string, string>> = {
  text: '(instr(lower(name), lower(@text)) > 0 OR instr(lower(url), lower(@text)) > 0)',
  before: 'id < @before',
};

export function directoryStore(db: Database, vault: Vault): DirectoryStore {
  const endpoint = endpointTable(vault);
  return {
    webhooks: async (filter, before, limit) => {
      const { where, params } = conditions(WEBHOOK_CONDITIONS, filter, before);
      const rows = await db.all(`${LISTED} ${where} ORDER BY w.id DESC LIMIT @limit`, { ...params, limit });
      return rows.map(readListing);
    },
    webhook: async (id) => {
      const row = await db.get(`${LISTED} WHERE w.id = @id`, { id });
      return row === undefined ? null : readListing(row);
    },
    oldestWaitingAt: async (webhookNumber) => {
      const row = await db.get(OLDEST, { webhookNumber });
      return (row?.at ?? null) as number | null;
    },
    deadRecords: async (webhookNumber, batches) => {
      const row = await db.get(DEAD, { webhookNumber, limit: batches + 1 });
      return { records: Number(row?.records), isWhole: Number(row?.batches) <= batches };
    },
    states: async () => {
      const rows = await db.all(STATES, {});
      return Object.fromEntries(rows.map((row) => [String(row.state), Number(row.webhooks)]));
    },
    endpoints: async (filter, before, limit) => {
      const { where, params } = conditions(ENDPOINT_CONDITIONS, filter, before);
      const sql = `SELECT ${endpoint.columns()} FROM endpoint ${where} ORDER BY id DESC LIMIT @limit`;
      return (await db.all(sql, { ...params, limit })).map(endpoint.read);
    },
    endpointNames: async (limit) =>
      (await db.all(NAMES, { limit })).map((row) => ({
        id: String(row.id),
        name: String(row.name),
        enabled: row.enabled === 1,
        tokenChallenge: row.token_challenge === 1,
        verified: row.verified === 1,
      })),
  };
}

function readListing(row: Row): WebhookListing {
  return {
    webhook: readWebhook(row),
    endpointName: String(row.endpoint_name),
    endpointEnabled: row.endpoint_enabled === 1,
    pendingRecords: Number(row.waiting),
  };
}
