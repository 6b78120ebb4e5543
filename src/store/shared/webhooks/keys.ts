/** PGP public keys of customers (`pgp_key`). */

import type { PgpKey } from '../../../domain/webhook.ts';
import type { Database } from '../../port/database.ts';
import type { KeyStore } from '../../port/webhooks.ts';
import { resourceStore } from '../resource.ts';
import { customer, number, numberOrNull, readOne, type Table, table, text } from '../table.ts';

export const PGP_KEY: Table<PgpKey> = table<PgpKey>('pgp_key', 'id', {
  id: text,
  customerId: customer,
  name: text,
  publicKey: text,
  fingerprint: text,
  algorithm: text,
  expiresAt: numberOrNull,
  warnedDays: numberOrNull,
  createdAt: number,
  updatedAt: number,
});

const GET_BY_NAME = `SELECT ${PGP_KEY.columns()} FROM pgp_key WHERE customer_id = @customerId AND name = @name`;

export function keyStore(db: Database): KeyStore {
  return {
    ...resourceStore(db, 'pgp_key', PGP_KEY, {
      list: { filters: { customerId: 'customer_id = @customerId', text: 'strpos(lower(name), lower(@text)) > 0' } },
    }),
    getByName: async (customerId, name) =>
      readOne(PGP_KEY, await db.get(GET_BY_NAME, { customerId: customer.write(customerId, ''), name })),
  };
}
