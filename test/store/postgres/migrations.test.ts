/** The steps from earlier versions of the schema, whose schema.sql is kept. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { readAsset } from '../../../src/kernel/assets.ts';
import type { PostgresDatabase } from '../../../src/store/postgres/driver/postgres.ts';
import { examineSchema, migrate, SCHEMA_VERSION } from '../../../src/store/postgres/schema.ts';
import { newDatabase, openAt } from '../../support/postgres.ts';

const SCHEMA = "CAST('public' AS regnamespace)";
/** The objects of a schema. Added columns come last, so their order does not count. */
const PARTS = `
  SELECT concat_ws(' ', 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, l.collname,
    pg_get_expr(d.adbin, d.adrelid)) AS part
  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
  WHERE c.relnamespace = ${SCHEMA} AND c.relkind IN ('r', 'p', 'v')
  UNION ALL SELECT concat_ws(' ', 'table', c.relname, c.relkind, c.relpersistence, c.reloptions, pg_get_partkeydef(c.oid))
    FROM pg_class AS c WHERE c.relnamespace = ${SCHEMA} AND c.relkind IN ('r', 'p', 'v')
  UNION ALL SELECT pg_get_indexdef(i.indexrelid) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
    WHERE c.relnamespace = ${SCHEMA}
  UNION ALL SELECT concat_ws(' ', CAST(conrelid AS regclass), conname, pg_get_constraintdef(oid)) FROM pg_constraint
    WHERE connamespace = ${SCHEMA}
  UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger AS t WHERE NOT t.tgisinternal
  UNION ALL SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p WHERE p.pronamespace = ${SCHEMA}
  UNION ALL SELECT concat_ws(' ', 'view', viewname, definition) FROM pg_views WHERE schemaname = 'public'
  ORDER BY 1`;
const HISTORY = 'SELECT version, oldest_program FROM schema_change ORDER BY version DESC LIMIT 1';

const partsOf = async (db: PostgresDatabase): Promise<unknown[]> => [
  ...(await db.all(PARTS, {})).map(({ part }) => part),
  await db.get(HISTORY, {}),
];

it('a migrated schema is that of a new database', async (t) => {
  const fresh = await openAt(t, await newDatabase(t));
  await fresh.run(readAsset('postgres/schema.sql'));
  const wanted = await partsOf(fresh);
  assert.ok(wanted.length > 400);
  for (let version = 1; version < SCHEMA_VERSION; version += 1) {
    const db = await openAt(t, await newDatabase(t));
    await db.run(readFileSync(new URL(`schemas/${version}.sql`, import.meta.url), 'utf8'));
    const verdict = await examineSchema(db);
    assert(verdict.ok && verdict.state === 'older', `version ${version}`);
    await migrate(db, verdict.path);
    assert.deepEqual(await partsOf(db), wanted, `version ${version}`);
  }
});
