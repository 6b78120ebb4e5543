import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type pg from 'pg';
import { passwordIn } from '../../../src/store/postgres/driver/password-file.ts';
import { DatabaseUrlError, planConnections } from '../../../src/store/postgres/driver/url.ts';
import { cleanUp } from '../../support/cleanup.ts';

const plan = (url: string, env: Record<string, string> = {}) => planConnections(url, env);
const configs = (url: string, env: Record<string, string> = {}): pg.ClientConfig[] => plan(url, env).servers.flat();
const summary = ({ user, host, port, database, application_name, options }: pg.ClientConfig): unknown[] => [
  user,
  host,
  port,
  database,
  application_name,
  options,
];
const summaries = (url: string, env: Record<string, string> = {}): unknown[] =>
  configs(`${url}${url.includes('?') ? '&' : '?'}sslmode=disable`, env).map(summary);
const passwordOf = async (config: pg.ClientConfig | undefined): Promise<string> =>
  typeof config?.password === 'function' ? config.password() : assert.fail('no function');

it('a URL names user, password, hosts, database and parameters as libpq reads them', async () => {
  const url = 'postgres://user:p%40s:s@db.example:5433/edge?application_name=a%20b';
  assert.deepEqual(summaries(url), [['user', 'db.example', 5433, 'edge', 'a b', undefined]]);
  assert.equal(await passwordOf(configs(url)[0]), 'p@s:s');
  assert.deepEqual(summaries('postgresql://[::1]/x?user=u&dbname=y'), [
    ['u', '::1', 5432, 'y', 'sallyport', undefined],
  ]);
  assert.deepEqual(summaries('postgres://u@/x?host=/run/postgresql&options=-c%20search_path%3Dedge'), [
    ['u', '/run/postgresql', 5432, 'x', 'sallyport', '-c search_path=edge'],
  ]);
  const inQuery = 'postgres://db.example/edge?user=app&password=a@b';
  assert.deepEqual(summaries(inQuery), [['app', 'db.example', 5432, 'edge', 'sallyport', undefined]]);
  assert.equal(await passwordOf(configs(inQuery)[0]), 'a@b');
  assert.equal(await passwordOf(configs('postgres://u:a@b@db.example/edge?user=v')[0]), 'a@b');
  const hostsAndPorts = (text: string): unknown[] =>
    configs(`${text}sslmode=disable`).map(({ host, port }) => `${host}:${port}`);
  assert.deepEqual(hostsAndPorts('postgres://u@one,two:5433,three/x?'), ['one:5432', 'two:5433', 'three:5432']);
  assert.deepEqual(hostsAndPorts('postgres://u@/x?host=one,two&port=5432,5433&'), ['one:5432', 'two:5433']);
  assert.deepEqual(hostsAndPorts('postgres://u@/x?host=one,two&port=5444&'), ['one:5444', 'two:5444']);
});

it('variables of libpq count where the URL says nothing', async () => {
  const env = { PGHOST: 'named', PGPORT: '5434', PGUSER: 'u', PGDATABASE: 'd', PGAPPNAME: 'a', PGPASSWORD: 'p' };
  assert.deepEqual(summaries('postgres://', env), [['u', 'named', 5434, 'd', 'a', undefined]]);
  assert.equal(await passwordOf(configs('postgres://', env)[0]), 'p');
  assert.deepEqual(summaries('postgres://v@other:1/e', env), [['v', 'other', 1, 'e', 'a', undefined]]);
  assert.equal(plan('postgres://db/x', { PGSSLMODE: 'require' }).servers.flat().length, 1);
});

it('a server must be writable, unless the URL says otherwise', () => {
  assert.equal(plan('postgres://one/x').needsPrimary, true);
  assert.equal(plan('postgres://one,two/x?target_session_attrs=read-write').needsPrimary, true);
  assert.equal(plan('postgres://one/x?target_session_attrs=any').needsPrimary, false);
});

it('connect_timeout is in seconds, and an attempt always has a time limit', () => {
  assert.equal(plan('postgres://one/x?connect_timeout=3').connectMs, 3000);
  assert.equal(plan('postgres://one/x?connect_timeout=0').connectMs, plan('postgres://one/x').connectMs);
});

it('sslmode decides on TLS, on its verification, and on what happens without it', (t) => {
  const file = temporaryFile(t, 'ca.pem', 'a certificate');
  const shown = (query: string): unknown =>
    configs(`postgres://db/x?${query}`).map(({ ssl }) =>
      typeof ssl === 'object' ? [ssl.rejectUnauthorized, ssl.checkServerIdentity !== undefined] : null,
    );
  assert.deepEqual(shown('sslmode=disable'), [null]);
  assert.deepEqual(shown('sslmode=allow'), [null, [false, false]]);
  assert.deepEqual(shown('sslmode=prefer'), [[false, false], null]);
  assert.deepEqual(shown('sslmode=require'), [[false, false]]);
  assert.deepEqual(shown(`sslmode=require&sslrootcert=${file}`), [[true, true]]);
  assert.deepEqual(shown(`sslmode=verify-ca&sslrootcert=${file}`), [[true, true]]);
  assert.deepEqual(shown(`sslmode=verify-full&sslrootcert=${file}`), [[true, false]]);
  assert.deepEqual(shown('sslmode=verify-full&sslrootcert=system'), [[true, false]]);
  assert.deepEqual(shown('host=/run/postgresql&sslmode=require'), [null]);
});

it('the password file is read when a server asks for a password', async (t) => {
  const file = temporaryFile(t, 'passwords', '# comment\nother:*:*:*:wrong\ndb:5432:x:u:p\\:\\\\w\n');
  const url = `postgres://u@db/x?passfile=${encodeURIComponent(file)}`;
  assert.equal(await passwordOf(configs(url)[0]), 'p:\\w');
  assert.equal(await passwordOf(configs('postgres://u@db/x', { PGPASSFILE: file })[0]), 'p:\\w');
  await assert.rejects(passwordOf(configs('postgres://v@db/x', { PGPASSFILE: file })[0]), {
    name: 'DatabaseUrlError',
    message: `the server asks for a password: neither the URL nor ${file} has one for v`,
  });
  chmodSync(file, 0o640);
  await assert.rejects(passwordOf(configs(url)[0]), {
    message: `the server asks for a password: ${file} is ignored, because others may read it: chmod 0600 ${file}`,
  });
  const usual = join(homedir(), 'nobody');
  await assert.rejects(passwordOf(configs('postgres://v@db/x', { HOME: usual })[0]), {
    message: `the server asks for a password: neither the URL nor ${join(usual, '.pgpass')} has one for v`,
  });
});

it('the first line of a password file that fits counts', () => {
  const wanted = { host: '::1', port: '5432', database: 'x', user: 'u' };
  assert.equal(passwordIn('*:*:*:v:1\r\n\\:\\:1:5432:x:u:2\r\n*:*:*:*:3', wanted), '2');
  assert.equal(passwordIn('*:*:*:*:\n*:*:*:*:3:more', wanted), '3');
  assert.equal(passwordIn('*:*:*\n', wanted), null);
});

it('a URL that cannot be used is refused without its password', (t) => {
  const key = temporaryFile(t, 'key.pem', 'a key');
  chmodSync(key, 0o644);
  const wrong: readonly (readonly [url: string, message: RegExp])[] = [
    ['postgres://u:hunter2/3@db/x', /^the URL is not one of a PostgreSQL database$/],
    ['postgres://u:hunter2@db:70000/x', /^"70000" is not a port$/],
    ['postgres://u:hunter2@a,b,c/x?port=1,2', /^the URL names 3 hosts and 2 ports$/],
    [
      'postgres://u:hunter2@db/x?sslmode=yes',
      /^sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full$/,
    ],
    [
      'postgres://u:hunter2@db/x?target_session_attrs=standby',
      /^target_session_attrs must be one of any, read-write, primary$/,
    ],
    ['postgres://u:hunter2@db/x?connect_timeout=soon', /^connect_timeout must be a number of seconds$/],
    [
      'postgres://u:hunter2@db/x?gssencmode=disable',
      /^the URL has the parameter "gssencmode", which Sallyport does not support/,
    ],
    [
      'postgres://u:hunter2@db/x?sslrootcert=/nowhere/ca.pem&sslmode=verify-ca',
      /^sslrootcert: \/nowhere\/ca\.pem cannot be read \(ENOENT\)$/,
    ],
    ['postgres://u:hunter2@db/x?sslrootcert=system&sslmode=require', /^sslrootcert=system needs sslmode=verify-full$/],
    ['postgres://u:hunter2@db/x?sslmode=verify-full', /^sslmode=verify-full needs sslrootcert/],
    [`postgres://u:hunter2@db/x?sslkey=${key}`, /^sslkey: others may read .*: chmod 0600 /],
  ];
  for (const [url, message] of wrong) {
    assert.throws(
      () => plan(url),
      (error) => error instanceof DatabaseUrlError && message.test(error.message) && !error.message.includes('hunter2'),
      url,
    );
  }
});

function temporaryFile(t: TestContext, name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'url-'));
  cleanUp(t, () => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}
