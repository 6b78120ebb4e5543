/** TLS and passwords of connections to PostgreSQL, and the advice that a refused start gives. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { completeConfig } from '../../../src/config/config.ts';
import { connect } from '../../../src/data/postgres.ts';
import { openPostgres } from '../../../src/store/postgres/driver/postgres.ts';
import { freePort } from '../../support/free-port.ts';
import { type Cluster, serverUser, startCluster } from '../../support/postgres.ts';
import { makeCertificates } from '../../support/tls.ts';

const PASSWORD = 'seventeen: b@dgers';
const ACCESS = `
local all all trust
host all sallyport 127.0.0.1/32 trust
hostssl all secured 127.0.0.1/32 scram-sha-256
hostnossl all plain 127.0.0.1/32 trust
hostssl all certified 127.0.0.1/32 cert
`;

describe('a connection to PostgreSQL', () => {
  let cluster: Cluster;
  let folder: string;
  const file = (name: string, text: string, mode = 0o600): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'postgres-tls-'));
    chmodSync(folder, 0o755);
    // It names the address and not localhost.
    const certificates = makeCertificates({ names: ['127.0.0.1'] });
    const served = {
      ssl_cert_file: file('server.pem', certificates.server.certificate),
      ssl_key_file: file('server-key.pem', certificates.server.privateKey),
      ssl_ca_file: file('ca.pem', certificates.ca, 0o644),
      hba_file: file('pg_hba.conf', ACCESS),
    };
    const client = certificates.issue({ names: ['certified'] });
    file('client.pem', client.certificate);
    file('client-key.pem', client.privateKey);
    file('other-ca.pem', makeCertificates().ca);
    const user = serverUser();
    if (user !== null) for (const path of Object.values(served)) chownSync(path, user.uid, user.gid);
    cluster = await startCluster({ ssl: 'on', ...served });
    const administrator = await openPostgres({ connection: { connectionString: cluster.url('postgres') } });
    await administrator.run(`
      CREATE ROLE secured LOGIN PASSWORD '${PASSWORD}'; CREATE ROLE plain LOGIN; CREATE ROLE certified LOGIN`);
    await administrator.close();
  });
  after(() => {
    cluster.stop();
    rmSync(folder, { recursive: true });
  });

  type Parts = { readonly role?: string; readonly host?: string; readonly query?: string };
  const urlOf = ({ role = 'secured', host = '127.0.0.1', query = '' }: Parts): string =>
    `postgres://${role}@${host}:${cluster.port}/postgres?${query.replaceAll('FOLDER', encodeURIComponent(folder))}`;
  const given = `password=${encodeURIComponent(PASSWORD)}`;
  /** Null: connected. */
  const problem = async (url: string): Promise<string | null> => {
    try {
      const database = await connect(completeConfig({ dataDir: folder, databaseUrl: url }));
      await database.close();
      return null;
    } catch (error) {
      assert.equal((error as Error).name, 'DataFolderError', String(error));
      return (error as Error).message;
    }
  };

  it('is made with each sslmode that fits the server', async () => {
    const fitting: readonly Parts[] = [
      { query: `sslmode=verify-full&sslrootcert=FOLDER/ca.pem&${given}` },
      { query: `sslmode=verify-ca&sslrootcert=FOLDER/ca.pem&${given}`, host: 'localhost' },
      { query: `sslmode=require&${given}`, host: 'localhost' },
      { query: `sslmode=prefer&${given}` },
      // The server takes this role only with TLS.
      { query: `sslmode=allow&${given}` },
      // The server takes this role only without TLS.
      { role: 'plain', query: 'sslmode=prefer' },
      { role: 'plain', query: 'sslmode=disable' },
    ];
    for (const parts of fitting) assert.equal(await problem(urlOf(parts)), null, JSON.stringify(parts));
  });

  it('presents a certificate of its own', async () => {
    const query = 'sslmode=require&sslcert=FOLDER/client.pem&sslkey=FOLDER/client-key.pem';
    assert.equal(await problem(urlOf({ role: 'certified', query })), null);
  });

  it('takes the password from the password file', async () => {
    const port = String(cluster.port);
    file('pgpass', `127.0.0.1:${port}:postgres:secured:${PASSWORD.replaceAll(':', '\\:')}\n`);
    assert.equal(await problem(urlOf({ query: 'passfile=FOLDER/pgpass' })), null);
    chmodSync(join(folder, 'pgpass'), 0o644);
    assert.match(
      (await problem(urlOf({ query: 'passfile=FOLDER/pgpass' }))) ?? '',
      /the server asks for a password: .*pgpass is ignored, because others may read it: chmod 0600 /,
    );
  });

  it('is refused with one sentence that says what to do, without the password', async () => {
    const closedPort = await freePort();
    const plainServer = await startCluster();
    const refused: readonly (readonly [url: string, message: RegExp])[] = [
      [
        urlOf({ query: `sslmode=verify-full&sslrootcert=FOLDER/ca.pem&${given}`, host: 'localhost' }),
        /use a host in the URL that the certificate of the server names, or sslmode=verify-ca$/,
      ],
      [
        urlOf({ query: `sslmode=verify-ca&sslrootcert=FOLDER/other-ca.pem&${given}` }),
        /: name the certificate authority of the server with sslrootcert in the URL$/,
      ],
      [
        urlOf({ query: `sslmode=disable&${given}` }),
        /no pg_hba\.conf entry .* no encryption: correct the role in the URL, or pg_hba\.conf of the server$/,
      ],
      [
        `${plainServer.url('postgres')}?sslmode=require`,
        /The server does not support SSL connections: set ssl = on there, or sslmode=prefer in the URL$/,
      ],
      [
        urlOf({ query: 'password=hunter2' }),
        /password authentication failed for user "secured": correct the password in the URL, or in the file that PGPASSFILE names$/,
      ],
      [
        urlOf({ query: 'passfile=FOLDER/nowhere' }),
        /the server asks for a password: neither the URL nor .*nowhere has one for secured$/,
      ],
      [
        cluster.url('nowhere'),
        /database "nowhere" does not exist: create it with createdb, or correct its name in the URL$/,
      ],
      [
        `postgres://u:hunter2@localhost:${closedPort}/x`,
        /it cannot be reached \(connect ECONNREFUSED .*\): check that PostgreSQL runs there/,
      ],
      [urlOf({ query: 'keepalives=1' }), /the URL has the parameter "keepalives", which Sallyport does not support/],
    ];
    for (const [url, message] of refused) {
      const said = await problem(url);
      assert.match(said ?? 'connected', message);
      assert.doesNotMatch(said ?? '', /hunter2|badgers|b@dgers|b%40dgers/);
    }
    plainServer.stop();
  });
});
