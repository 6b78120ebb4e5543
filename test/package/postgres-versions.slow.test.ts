/** The newest PostgreSQL works as the oldest does, which runs all tests; a server that is too old is refused. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import pg from 'pg';
import { cleanUp } from '../support/cleanup.ts';
import { sallyport, unusedFolder } from '../support/command.ts';
import { runNestedTests } from '../support/nested.ts';
import { startCluster } from '../support/postgres.ts';
import { programsOfVersion } from '../support/postgres-versions.ts';

/** The verbs of the store, the schema with its partitions, leases and settlements, and the way from a token to a delivery. */
const TESTS = [
  ...['access', 'audit', 'deliveries', 'directory', 'events', 'usage', 'webhooks'].map((name) => `store/${name}`),
  ...['allowances', 'at-once', 'instances', 'partitions', 'postgres', 'settlements', 'shared-state', 'vacuum'].map(
    (name) => `store/postgres/${name}`,
  ),
  'customers/worlds',
  'e2e/circle',
  'delivery/changes',
  'delivery/slow-attempts',
].map((name) => `test/${name}.test.ts`);

const COMMANDS = [
  ['init'],
  ['migrate'],
  ['user', 'create', '--user-name', 'jane'],
  ['instances'],
  ['doctor'],
  ['serve', '--port', '0'],
] as const;

describe('the version of PostgreSQL', () => {
  it('may be 18: the store and the way to a delivery pass their tests', { timeout: 900_000 }, async (t) => {
    const output = await runNestedTests(t, ['scripts/suite.ts', ...TESTS], {
      TEST_DATABASE: 'postgres',
      TEST_POSTGRES_PROGRAMS: programsOfVersion(t, 18),
    });
    assert.match(output, /^[1-9]\d{2,} tests of \d+ files in .*All passed\.$/m);
  });

  it('must be 15 or newer: 14 is refused in one sentence, and nothing is created', async (t) => {
    const cluster = await startCluster({}, undefined, programsOfVersion(t, 14));
    cleanUp(t, cluster.stop);
    const url = cluster.url('postgres');
    for (const command of COMMANDS) {
      const { status, stdout, stderr } = await sallyport([...command], {
        env: { SALLYPORT_DATA: unusedFolder(t), SALLYPORT_DATABASE_URL: url },
      });
      const said = `${stdout}${stderr}`;
      assert.match(said, /it is PostgreSQL 14\.\d+, and Sallyport needs 15 or newer: upgrade the server/, command[0]);
      assert.equal(status, 1, command[0]);
    }
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query("SELECT count(*) AS tables FROM pg_tables WHERE schemaname = 'public'");
    await client.end();
    assert.deepEqual(rows, [{ tables: '0' }]);
  });
});
