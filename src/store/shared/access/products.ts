/** API products (`product`): the catalogue that the gate reads. */

import type { ApiProduct, ProductScope, Rule } from '../../../domain/catalogue.ts';
import type { ProductStore } from '../../port/access.ts';
import type { Database } from '../../port/database.ts';
import { resourceStore } from '../resource.ts';
import { flag, json, number, table, text } from '../table.ts';

const PRODUCT = table<ApiProduct>('product', 'id', {
  id: text,
  name: text,
  builtIn: flag,
  scopes: json<readonly ProductScope[]>(),
  rules: json<readonly Rule[]>(),
  createdAt: number,
  updatedAt: number,
});

const ALL = `SELECT ${PRODUCT.columns()} FROM product ORDER BY id`;
// Any update increases the sum, even if the clock was set back; replacing a row changes the last id. Index: product_updated.
const VERSION = `SELECT count(*) || ' ' || coalesce(sum(updated_at), 0) || ' ' || coalesce(max(id), '') AS version FROM product`;
const IS_VERSION = `SELECT 1 AS same FROM (${VERSION}) AS found WHERE found.version = @version`;
const FORGET_BUILT_IN = 'DELETE FROM product WHERE built_in AND id NOT IN (SELECT kept.value FROM texts(@ids) AS kept)';
// Several instances may start at the same time and write the same products.
const OR_REPLACE = `
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, built_in = excluded.built_in, scopes = excluded.scopes,
    rules = excluded.rules, created_at = excluded.created_at, updated_at = excluded.updated_at`;

export function productStore(db: Database): ProductStore {
  return {
    ...resourceStore(db, 'product', PRODUCT),
    all: async () => (await db.all(ALL, {})).map(PRODUCT.read),
    version: async () => String((await db.get(VERSION, {}))?.version),
    atVersion: (version) => ({ sql: IS_VERSION, params: { version }, expectChanges: 1 }),
    replaceBuiltIn: async (products) => {
      const ids = JSON.stringify(products.map(({ id }) => id));
      const puts = products.map(PRODUCT.insert).map(({ sql, params }) => ({ sql: sql + OR_REPLACE, params }));
      await db.commit([{ sql: FORGET_BUILT_IN, params: { ids } }, ...puts]);
    },
  };
}
