/** The limits of customers on what they have, enforced in the transaction that adds to it (contract §8.7). */
import { ENDPOINTS_LIMIT_DEFAULT, WEBHOOKS_LIMIT_DEFAULT } from '../../domain/limits.ts';
import type { LimitedTable } from '../port/customers.ts';
import type { Statement } from '../port/database.ts';

// Two transactions that add for the same customer wait for each other here, so that the second one counts what the first one added. The
// statement after it has to count: on PostgreSQL one statement would count as of its beginning.
const LOCK = 'SELECT c.id FROM (SELECT id FROM customer WHERE id = @customerId FOR UPDATE) AS c';
const room = (table: LimitedTable, limit: string, otherwise: number): string => `
  SELECT 1 FROM customer AS c
  WHERE c.id = @customerId AND COALESCE(c.${limit}, ${otherwise}) > (SELECT count(*) FROM ${table} WHERE customer_id = @customerId)`;
const ROOM: Readonly<Record<LimitedTable, string>> = {
  endpoint: room('endpoint', 'max_endpoints', ENDPOINTS_LIMIT_DEFAULT),
  webhook: room('webhook', 'max_webhooks', WEBHOOKS_LIMIT_DEFAULT),
};

/** They undo the transaction with `StaleWrite` if the customer has as many as its limit. The operator has no limits. */
export function limitStatements(table: LimitedTable, customerId: string | null): Statement[] {
  if (customerId === null) return [];
  return [
    { sql: LOCK, params: { customerId }, expectChanges: 1 },
    { sql: ROOM[table], params: { customerId }, expectChanges: 1 },
  ];
}
