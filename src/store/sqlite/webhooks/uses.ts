/** Which webhooks use an endpoint or a key, or get a type of event: for many of them at once, as lists show them. Reads only. */

import type { WebhookState } from '../../../webhooks/webhook.ts';
import type { Use, UseStore, Uses } from '../../directory.ts';
import type { Database } from '../driver/database.ts';

const FIRST = 3;

// Served by webhook_endpoint and webhook_encryption_key.
const OF_ENDPOINTS =
  'SELECT wanted.value AS used, w.number FROM json_each(@wanted) AS wanted JOIN webhook AS w ON w.endpoint_id = wanted.value';
const OF_KEYS =
  'SELECT wanted.value AS used, w.number FROM json_each(@wanted) AS wanted JOIN webhook AS w ON w.encryption_key_name = wanted.value';
// By its name, by its category, or with all others: each webhook once.
const OF_EVENT_TYPES = `
  SELECT DISTINCT wanted.value AS used, s.webhook_number AS number FROM json_each(@wanted) AS wanted
  JOIN subscription AS s ON s.pattern IN (wanted.value, substr(wanted.value, 1, instr(wanted.value, '.')) || '*', '*')`;

function usesSql(pairs: string): string {
  return `
    SELECT used, uses, id, name, state FROM (
      SELECT u.used, count(*) OVER (PARTITION BY u.used) AS uses,
        row_number() OVER (PARTITION BY u.used ORDER BY u.number) AS place, w.id, w.name, p.state
      FROM (${pairs}) AS u
      JOIN webhook AS w ON w.number = u.number JOIN webhook_progress AS p ON p.webhook_number = u.number)
    WHERE place <= ${FIRST} ORDER BY used, place`;
}

export function useStore(db: Database): UseStore {
  const read =
    (pairs: string) =>
    async (wanted: readonly string[]): Promise<ReadonlyMap<string, Uses>> => {
      const uses = new Map<string, { count: number; first: Use[] }>();
      for (const row of await db.all(usesSql(pairs), { wanted: JSON.stringify(wanted) })) {
        const used = String(row.used);
        const entry = uses.get(used) ?? { count: Number(row.uses), first: [] };
        entry.first.push({ id: String(row.id), name: String(row.name), state: row.state as WebhookState });
        uses.set(used, entry);
      }
      return uses;
    };
  return { ofEndpoints: read(OF_ENDPOINTS), ofKeys: read(OF_KEYS), ofEventTypes: read(OF_EVENT_TYPES) };
}
