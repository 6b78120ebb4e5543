import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DatabaseUrlError, planConnections } from '../../../src/store/postgres/driver/url.ts';

const plan = (url: string, env: Record<string, string> = {}) => planConnections(url, env);
const configs = (url: string, env: Record<string, string> = {}) => plan(url, env).attempts.map(({ config }) => config);

it('a URL names user, password, hosts, database and parameters as libpq reads them', () => {
  assert.deepEqual(configs('postgres://user:p%40s:s@db.example:5433/edge?sslmode=disable&application_name=a%20b'), [
    { user: 'user', password: 'p@s:s', database: 'edge', application_name: 'a b', host: 'db.example', port: 5433 },
  ]);
  assert.deepEqual(configs('postgresql://[::1]/x?user=u&dbname=y&sslmode=disable'), [
    { user: 'u', database: 'y', application_name: 'sallyport', host: '::1' },
  ]);
  assert.deepEqual(configs('postgres:///x?host=/run/postgresql&options=-c%20search_path%3Dedge'), [
    { database: 'x', options: '-c search_path=edge', application_name: 'sallyport', host: '/run/postgresql' },
  ]);
  const hosts = ['one', 'two', 'three'].map((host, at) => ({ host, ...(at === 1 ? { port: 5433 } : {}) }));
  const listed = configs('postgres://u@one,two:5433,three/x?sslmode=disable');
  assert.deepEqual(
    listed.map(({ host, port }) => ({ host, ...(port === undefined ? {} : { port }) })),
    hosts,
  );
  assert.deepEqual(
    configs('postgres://u@/x?host=one,two&port=5432,5433&sslmode=disable').map(({ port }) => port),
    [5432, 5433],
  );
  assert.deepEqual(
    configs('postgres:///x?sslmode=disable', { PGHOST: 'named' }).map(({ host }) => host),
    ['named'],
  );
});

it('with several hosts, or if the URL says so, only a server that can be written will do', () => {
  assert.equal(plan('postgres://one/x').needsPrimary, false);
  assert.equal(plan('postgres://one,two/x').needsPrimary, true);
  assert.equal(plan('postgres://one,two/x?sslmode=disable').needsPrimary, true);
  assert.equal(plan('postgres://one/x?target_session_attrs=read-write').needsPrimary, true);
  assert.equal(plan('postgres://one/x?target_session_attrs=any').needsPrimary, false);
});

it('sslmode decides on TLS, on its verification, and on what happens without it', () => {
  const shown = (mode: string): unknown =>
    plan(`postgres://db/x?sslmode=${mode}`).attempts.map(({ config: { ssl }, isFallback }) => [
      typeof ssl === 'object' ? [ssl.rejectUnauthorized, ssl.checkServerIdentity !== undefined] : null,
      isFallback,
    ]);
  assert.deepEqual(shown('disable'), [[null, false]]);
  assert.deepEqual(shown('prefer'), [
    [[false, false], false],
    [null, true],
  ]);
  assert.deepEqual(shown('require'), [[[false, false], false]]);
  assert.deepEqual(shown('verify-ca'), [[[true, true], false]]);
  assert.deepEqual(shown('verify-full'), [[[true, false], false]]);
  assert.deepEqual(plan('postgres://db/x', { PGSSLMODE: 'require' }).attempts.length, 1);
});

it('a URL that cannot be used is refused without its password', () => {
  const wrong: readonly (readonly [url: string, RegExp])[] = [
    ['postgres://u:hunter2@db:70000/x', /^"70000" is not a port$/],
    [
      'postgres://u:hunter2@db/x?sslmode=yes',
      /^sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full$/,
    ],
    [
      'postgres://u:hunter2@db/x?sslrootcert=/nowhere/ca.pem',
      /^sslrootcert: \/nowhere\/ca\.pem cannot be read \(ENOENT\)$/,
    ],
  ];
  for (const [url, message] of wrong) {
    assert.throws(
      () => plan(url),
      (error) => error instanceof DatabaseUrlError && message.test(error.message),
    );
  }
});
