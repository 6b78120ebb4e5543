import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { describe, it, test } from 'node:test';
import { inspect } from 'node:util';
import { ConfigurationError, completeConfig, dataPlace, readConfig, readSettingFile } from '../../src/config/config.ts';
import { SETTING_NAMES, SETTINGS } from '../../src/config/names.ts';
import { LOG_LEVELS } from '../../src/kernel/log.ts';
import { formatCidr } from '../../src/outbound/ip-address.ts';

/** The message of the refusal. */
function refusal(env: Record<string, string>, flags: Record<string, string> = {}): string {
  try {
    readConfig(env, flags);
  } catch (error) {
    assert(error instanceof ConfigurationError, String(error));
    return error.message;
  }
  return assert.fail(`accepted: ${JSON.stringify({ env, flags })}`);
}

test('the defaults are those of the contract', () => {
  const config = readConfig({});
  assert.deepEqual(config, {
    dataDir: resolve('data'),
    host: '127.0.0.1',
    port: 8080,
    publicUrl: null,
    tlsCertFile: null,
    tlsKeyFile: null,
    masterKeyFile: null,
    caFile: null,
    egressAllow: [],
    customerEgressAllow: [],
    egressProxy: null,
    egressAddresses: [],
    trustedProxies: [],
    portalFrameAncestors: [],
    databaseUrl: null,
    databaseListenUrl: null,
    retentionDeliveredDays: 30,
    retentionDeadDays: 90,
    retentionAttemptsDays: 30,
    logLevel: 'info',
  });
});

test('every variable of the contract is a setting with a flag of the same name', () => {
  const variables = [
    'DATA',
    'HOST',
    'PORT',
    'PUBLIC_URL',
    'TLS_CERT_FILE',
    'TLS_KEY_FILE',
    'MASTER_KEY_FILE',
    'CA_FILE',
    'EGRESS_ALLOW',
    'CUSTOMER_EGRESS_ALLOW',
    'EGRESS_PROXY',
    'EGRESS_ADDRESSES',
    'TRUSTED_PROXIES',
    'PORTAL_FRAME_ANCESTORS',
    'DATABASE_URL',
    'DATABASE_LISTEN_URL',
    'RETENTION_DELIVERED_DAYS',
    'RETENTION_DEAD_DAYS',
    'RETENTION_ATTEMPTS_DAYS',
    'LOG_LEVEL',
  ];
  assert.deepEqual(
    SETTING_NAMES.map((name) => SETTINGS[name].variable),
    variables.map((name) => `SALLYPORT_${name}`),
  );
  for (const name of SETTING_NAMES) {
    const { variable, flag } = SETTINGS[name];
    assert.equal(`SALLYPORT_${flag.toUpperCase().replaceAll('-', '_')}`, variable);
  }
});

test('valid values are read from variables', () => {
  const config = readConfig({
    PATH: '/usr/bin',
    SALLYPORT_DATA: '/var/lib/edge',
    SALLYPORT_HOST: '::1',
    SALLYPORT_PORT: '0',
    SALLYPORT_PUBLIC_URL: 'https://Edge.example/',
    SALLYPORT_TLS_CERT_FILE: 'cert.pem',
    SALLYPORT_TLS_KEY_FILE: '/etc/key.pem',
    SALLYPORT_MASTER_KEY_FILE: '/etc/master.key',
    SALLYPORT_CA_FILE: 'ca.pem',
    SALLYPORT_EGRESS_ALLOW: '10.0.0.0/8, fd00::/8 192.0.2.7',
    SALLYPORT_CUSTOMER_EGRESS_ALLOW: '10.1.0.0/16',
    SALLYPORT_EGRESS_PROXY: 'http://user:hunter2@proxy.example:3128',
    SALLYPORT_TRUSTED_PROXIES: '127.0.0.1',
    SALLYPORT_EGRESS_ADDRESSES: '192.0.2.10, 2001:db8::/64',
    SALLYPORT_PORTAL_FRAME_ANCESTORS: 'https://Shop.example/, http://localhost:3000 https://shop.example',
    SALLYPORT_RETENTION_DELIVERED_DAYS: '7',
    SALLYPORT_RETENTION_DEAD_DAYS: '0',
    SALLYPORT_RETENTION_ATTEMPTS_DAYS: '365',
    SALLYPORT_LOG_LEVEL: 'debug',
  });
  const { egressAllow, customerEgressAllow, trustedProxies, egressProxy, ...rest } = config;
  assert.deepEqual(rest, {
    dataDir: '/var/lib/edge',
    host: '::1',
    port: 0,
    publicUrl: 'https://edge.example',
    tlsCertFile: resolve('cert.pem'),
    tlsKeyFile: '/etc/key.pem',
    masterKeyFile: '/etc/master.key',
    caFile: resolve('ca.pem'),
    portalFrameAncestors: ['https://shop.example', 'http://localhost:3000'],
    egressAddresses: ['192.0.2.10', '2001:db8::/64'],
    databaseUrl: null,
    databaseListenUrl: null,
    retentionDeliveredDays: 7,
    retentionDeadDays: 0,
    retentionAttemptsDays: 365,
    logLevel: 'debug',
  });
  assert.deepEqual(egressAllow.map(formatCidr), ['10.0.0.0/8', 'fd00::/8', '192.0.2.7/32']);
  assert.deepEqual(customerEgressAllow.map(formatCidr), ['10.1.0.0/16']);
  assert.deepEqual(trustedProxies.map(formatCidr), ['127.0.0.1/32']);
  assert.equal(egressProxy?.reveal(), 'http://user:hunter2@proxy.example:3128');
  assert(!inspect(config).includes('hunter2'));
  assert(!JSON.stringify(config).includes('hunter2'));
});

test('a flag overrides the variable, and an empty variable counts as unset', () => {
  const env = { SALLYPORT_PORT: '9000', SALLYPORT_HOST: '', SALLYPORT_EGRESS_ALLOW: '10.0.0.0/8' };
  assert.equal(readConfig(env).port, 9000);
  assert.equal(readConfig(env).host, '127.0.0.1');
  assert.equal(readConfig(env, { port: '9001' }).port, 9001);
  assert.deepEqual(readConfig(env, { 'egress-allow': '' }).egressAllow, []);
});

test('an invalid value is refused with the name of its variable or flag and the allowed values', () => {
  const bad: readonly [variable: string, value: string, allowed: RegExp][] = [
    ['SALLYPORT_HOST', 'two words', /IP address or a host name/],
    ['SALLYPORT_HOST', '127.0.0.1:80', /without a port/],
    ['SALLYPORT_HOST', '300.0.0.1', /IP address or a host name/],
    ['SALLYPORT_HOST', '-edge', /IP address or a host name/],
    ['SALLYPORT_PORT', '65536', /0 to 65535/],
    ['SALLYPORT_PORT', '-1', /0 to 65535/],
    ['SALLYPORT_PORT', '8080 ', /0 to 65535/],
    ['SALLYPORT_PORT', '0x50', /0 to 65535/],
    ['SALLYPORT_PORT', '80.5', /0 to 65535/],
    ['SALLYPORT_PUBLIC_URL', 'edge.example', /https:\/\/edge\.example/],
    ['SALLYPORT_PUBLIC_URL', 'ftp://edge.example', /http:\/\/ or https:\/\//],
    ['SALLYPORT_PUBLIC_URL', 'https://edge.example/api', /without path or credentials/],
    ['SALLYPORT_PUBLIC_URL', 'https://u:p@edge.example', /without path or credentials/],
    ['SALLYPORT_PUBLIC_URL', 'https://edge.example/?a=b', /without path or credentials/],
    ['SALLYPORT_PUBLIC_URL', 'https://edge.example/#', /without path or credentials/],
    ['SALLYPORT_EGRESS_ALLOW', '10.0.0.0/33', /CIDR/],
    ['SALLYPORT_EGRESS_ALLOW', '10.0.0.1/8', /10\.0\.0\.0\/8/],
    ['SALLYPORT_EGRESS_ALLOW', 'intranet', /CIDR/],
    ['SALLYPORT_EGRESS_PROXY', 'proxy.example:3128', /http:\/\/\[user:password@\]host:port/],
    ['SALLYPORT_EGRESS_PROXY', 'https://proxy.example', /http:\/\/\[user:password@\]host:port/],
    ['SALLYPORT_TRUSTED_PROXIES', '*', /CIDR/],
    ['SALLYPORT_PORTAL_FRAME_ANCESTORS', 'https://a.example,http://shop.example', /not "http:\/\/shop\.example"/],
    ['SALLYPORT_EGRESS_ADDRESSES', 'nat.example', /list of IP addresses and CIDR blocks/],
    ['SALLYPORT_EGRESS_ADDRESSES', '192.0.2.1/33', /list of IP addresses and CIDR blocks/],
    ['SALLYPORT_PORTAL_FRAME_ANCESTORS', '*', /not "\*"/],
    ['SALLYPORT_PORTAL_FRAME_ANCESTORS', "'self'", /not "'self'"/],
    ['SALLYPORT_PORTAL_FRAME_ANCESTORS', 'https://*.example', /not "https:\/\/\*\.example"/],
    ['SALLYPORT_PORTAL_FRAME_ANCESTORS', 'https://shop.example/page', /https:\/\/ origins/],
    ['SALLYPORT_PORTAL_FRAME_ANCESTORS', 'https://shop.example;script-src', /https:\/\/ origins/],
    ['SALLYPORT_RETENTION_DELIVERED_DAYS', '-1', /whole number of days/],
    ['SALLYPORT_RETENTION_DEAD_DAYS', '1.5', /from 0 \(forever\)/],
    ['SALLYPORT_RETENTION_ATTEMPTS_DAYS', '36501', /36500/],
    ['SALLYPORT_LOG_LEVEL', 'loud', /fatal, error, warn, info, debug, trace, silent/],
    ['SALLYPORT_LOG_LEVEL', 'INFO', /one of/],
    ['SALLYPORT_DATABASE_URL', 'mysql://db.example/edge', /URL of a PostgreSQL database/],
    ['SALLYPORT_DATA', 'a\0b', /path/],
  ];
  for (const [variable, value, allowed] of bad) {
    const flag = variable.slice('SALLYPORT_'.length).toLowerCase().replaceAll('_', '-');
    const fromVariable = refusal({ [variable]: value });
    assert(fromVariable.startsWith(`${variable} `), fromVariable);
    assert.match(fromVariable, allowed);
    const fromFlag = refusal({}, { [flag]: value });
    assert(fromFlag.startsWith(`--${flag} `), fromFlag);
    assert.match(fromFlag, allowed);
  }
});

test('an empty flag is refused unless the setting may be empty', () => {
  for (const flag of [
    'data',
    'host',
    'port',
    'public-url',
    'ca-file',
    'egress-proxy',
    'retention-dead-days',
    'log-level',
  ]) {
    assert(refusal({}, { [flag]: '' }).startsWith(`--${flag} must be `));
  }
});

test('an unknown variable is refused by name, with the nearest setting or the list of settings', () => {
  assert.equal(
    refusal({ SALLYPORT_PROT: '80', SALLYPORT_PORT: '80' }),
    'SALLYPORT_PROT is not a setting. Did you mean "SALLYPORT_PORT"?',
  );
  assert.match(
    refusal({ SALLYPORT_QWERTZUIOP: 'x' }),
    /^SALLYPORT_QWERTZUIOP is not a setting\. The settings are: .*SALLYPORT_PORT, SALLYPORT_PUBLIC_URL/,
  );
  assert.match(refusal({ SALLYPORT_: 'x' }), /^SALLYPORT_ is not a setting/);
});

test('TLS needs both certificate and key', () => {
  assert.match(
    refusal({ SALLYPORT_TLS_CERT_FILE: 'a' }),
    /^SALLYPORT_TLS_CERT_FILE is set without SALLYPORT_TLS_KEY_FILE/,
  );
  assert.match(refusal({}, { 'tls-key-file': 'a' }), /^SALLYPORT_TLS_KEY_FILE is set without SALLYPORT_TLS_CERT_FILE/);
});

test('no message shows a password', () => {
  const messages = [
    refusal({ SALLYPORT_EGRESS_PROXY: 'https://user:hunter2@proxy.example' }),
    refusal({ SALLYPORT_EGRESS_PROXY: 'http://user:%E0hunter2%@proxy.example' }),
    refusal({ SALLYPORT_DATABASE_URL: 'postgres//user:hunter2@db.example/edge' }),
    refusal({ SALLYPORT_DATABASE_URL: 'postgres://user:hunter2/3@db.example/edge' }),
    refusal({ SALLYPORT_DATABASE_URL: 'postgres://user:hunter2?3@db.example/edge' }),
    refusal({ SALLYPORT_PUBLIC_URL: 'https://user:hunter2@edge.example' }),
  ];
  for (const message of messages) assert(!message.includes('hunter2'), message);
});

test('help names the levels of the log', () => {
  const named = SETTINGS.logLevel.description.match(/: (.*) \(/)?.[1]?.split(/, | or /);
  assert.deepEqual(named, [...LOG_LEVELS]);
});

test('an unreadable file of a setting is refused with the name of the setting', () => {
  assert.throws(() => readSettingFile('caFile', '/nowhere/ca.pem'), {
    name: 'ConfigurationError',
    message: 'SALLYPORT_CA_FILE: /nowhere/ca.pem cannot be read (ENOENT)',
  });
});

describe('the options of an embedding program', () => {
  it('get defaults and ignore the environment', () => {
    assert.deepEqual(completeConfig({}), readConfig({}));
    assert.deepEqual(completeConfig({ dataDir: './there', port: 0, publicUrl: undefined }), {
      ...readConfig({}),
      dataDir: resolve('there'),
      port: 0,
    });
  });

  it('may be text instead of parsed values', () => {
    const { egressAllow, customerEgressAllow, trustedProxies, egressProxy, portalFrameAncestors, egressAddresses } =
      completeConfig({
        egressAllow: ['10.0.0.0/8', '::1'],
        customerEgressAllow: ['10.1.0.0/16'],
        trustedProxies: '192.0.2.1, 192.0.2.2',
        portalFrameAncestors: ['https://a.example', 'https://b.example'],
        egressAddresses: ['192.0.2.1', '192.0.2.128/25'],
        egressProxy: 'http://user:word@proxy.example:3128',
      });
    assert.deepEqual(egressAllow.map(formatCidr), ['10.0.0.0/8', '::1/128']);
    assert.deepEqual(customerEgressAllow.map(formatCidr), ['10.1.0.0/16']);
    assert.deepEqual(portalFrameAncestors, ['https://a.example', 'https://b.example']);
    assert.deepEqual(egressAddresses, ['192.0.2.1', '192.0.2.128/25']);
    assert.deepEqual(trustedProxies.map(formatCidr), ['192.0.2.1/32', '192.0.2.2/32']);
    assert.equal(egressProxy?.reveal(), 'http://user:word@proxy.example:3128');
    assert.deepEqual(completeConfig({ ...readConfig({}), egressAllow, egressProxy }).egressAllow, egressAllow);
  });

  it('may be the result of readConfig, with the sources of its settings', () => {
    const config = readConfig({ SALLYPORT_PORT: '1' });
    assert.equal(completeConfig(config), config);
  });

  const wrong: readonly [options: unknown, message: RegExp][] = [
    [{ datadir: './data' }, /^datadir is not an option; the options are: dataDir, host, port, /],
    [{ dataDir: 17 }, /^dataDir must not be 17$/],
    [{ dataDir: '' }, /^dataDir must be a path$/],
    [{ dataDir: null }, /^dataDir must not be null$/],
    [{ port: 65_536 }, /^port must be a whole number from 0 to 65535$/],
    [{ port: -1 }, /^port must be a whole number/],
    [{ port: 1.5 }, /^port must be a whole number/],
    [{ retentionDeadDays: Number.NaN }, /^retentionDeadDays must be a whole number of days/],
    [{ publicUrl: 'https://a.example/path' }, /^publicUrl must be http:\/\/ or https:\/\/ with a host/],
    [{ egressAllow: ['10.0.0.0/8', 'local'] }, /^egressAllow must be a comma-separated list of CIDR blocks: /],
    [{ logLevel: 'loud' }, /^logLevel must be /],
    [{ databaseUrl: 'sqlite://a' }, /^databaseUrl must be the URL of a PostgreSQL database/],
    [{ tlsKeyFile: 'key.pem' }, /SALLYPORT_TLS_KEY_FILE is set without SALLYPORT_TLS_CERT_FILE/],
    ['./data', /^the options must be an object, such as \{dataDir: '.\/data'\}$/],
    [null, /^the options must be an object/],
  ];
  for (const [options, message] of wrong)
    it(`are refused by name: ${inspect(options)}`, () => {
      assert.throws(() => completeConfig(options as never), { name: 'ConfigurationError', message });
    });

  it('are refused without showing a secret', () => {
    const options = { egressProxy: { password: 'hush' } as never };
    assert.throws(
      () => completeConfig(options),
      (error: Error) => !error.message.includes('hush'),
    );
  });
});

test('the URL of a database may name several hosts, and is shown without credentials and parameters', () => {
  const names = [
    ['postgres://user:hunter2@db.example:5433/edge', 'db.example:5433/edge'],
    ['postgresql://user:p@ss@one,two:5433/edge?sslmode=verify-full', 'one,two:5433/edge'],
    ['postgres:///edge?host=/run/postgresql&password=hunter2', '/edge'],
    ['postgres://db.example/edge?user=app&password=hunter2@more', 'db.example/edge'],
    ['postgres://db.example?password=hunter2@more/edge', 'db.example'],
  ];
  for (const [url = '', name] of names) {
    const config = completeConfig({ databaseUrl: url });
    assert.equal(config.databaseUrl?.reveal(), url);
    assert.equal(dataPlace(config), name);
    assert(!JSON.stringify(config).includes('hunter2'));
  }
  assert.equal(dataPlace(completeConfig({ dataDir: '/data' })), '/data');
});
