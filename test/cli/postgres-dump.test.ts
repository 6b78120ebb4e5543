/** pg_dump and pg_restore, as docs/how-to/postgresql-in-production.md says: a restored database serves with the same master key. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import type { FirstCredentials } from '../../src/data/data.ts';
import { succeeded } from '../support/client.ts';
import { sallyport, sallyportJson, unusedFolder } from '../support/command.ts';
import { newDatabase, postgresPrograms } from '../support/postgres.ts';
import { startService } from '../support/service.ts';

it('a dump of a PostgreSQL database is complete, and serves with the master key and not without', async (t) => {
  const programs = postgresPrograms();
  assert.ok(programs);
  const [dataDir, url] = [unusedFolder(t), await newDatabase(t)];
  const env = { SALLYPORT_DATA: dataDir, SALLYPORT_DATABASE_URL: url };
  const credentials = await sallyportJson<FirstCredentials>(['init'], { env });
  await sallyportJson(['event-type', 'create', '--name', 'order.created'], { env });
  await sallyportJson(['event', 'publish', 'order.created', '{"orderId":1}'], { env });

  const file = `${dataDir}.dump`;
  execFileSync(join(programs, 'pg_dump'), ['--no-owner', '--format', 'custom', '--file', file, url]);
  const copy = await newDatabase(t);
  execFileSync(join(programs, 'pg_restore'), ['--no-owner', '--exit-on-error', '--dbname', copy, file]);
  const restored = unusedFolder(t);
  const there = { SALLYPORT_DATA: restored, SALLYPORT_DATABASE_URL: copy };
  const without = await sallyport(['user', 'list'], { env: there });
  assert.equal(without.status, 1);
  assert.match(without.stderr, /master key/);
  mkdirSync(restored, { mode: 0o700, recursive: true });
  copyFileSync(join(dataDir, 'master.key'), join(restored, 'master.key'));
  assert.match((await sallyport(['audit', 'verify'], { env: there })).stdout, /The chain is intact/);
  const { admin } = await startService(t, { after: { dataDir: restored, credentials }, env: there });
  await succeeded(admin.post('events', { type: 'order.created', data: { orderId: 2 } }));
  const { items } = await succeeded<{ items: { name: string }[] }>(admin.get('event-types'));
  assert.ok(items.some(({ name }) => name === 'order.created'));
});
