/**
 * The URL of a PostgreSQL database as libpq reads it (PostgreSQL, "Connection URIs"): several hosts, `sslmode`, `target_session_attrs`. What
 * the URL leaves out comes from the variables PGHOST, PGUSER and so on, and the password also from the file that PGPASSFILE names.
 */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import type pg from 'pg';

/** Ways to connect, to be tried in this order. */
export type ConnectionPlan = {
  readonly attempts: readonly Attempt[];
  /** A server that cannot be written is skipped. */
  readonly needsPrimary: boolean;
};

export type Attempt = {
  readonly config: pg.ClientConfig;
  /** Tried only if the attempt before failed because the server does not use TLS. */
  readonly isFallback: boolean;
};

/** The URL cannot be used. The message says why, without the password. */
export class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError';
}

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

const SHAPE =
  /^postgres(?:ql)?:\/\/(?:(?<credentials>.*)@)?(?<hosts>[^/?]*)(?:\/(?<database>[^?]*))?(?:\?(?<query>.*))?$/s;

/** Parses the URL. Throws `DatabaseUrlError`. Files of certificates are read now. */
export function planConnections(
  url: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): ConnectionPlan {
  const { credentials = '', hosts = '', database = '', query = '' } = SHAPE.exec(url)?.groups ?? {};
  const params = new URLSearchParams(query.replaceAll('+', '%2B'));
  const given = (name: string, text = ''): string | undefined =>
    params.get(name) ?? (text === '' ? undefined : decoded(text));
  const [user = '', ...password] = credentials.split(':');
  const common = {
    user: given('user', user),
    password: given('password', password.join(':')),
    database: given('dbname', database),
    options: given('options'),
    application_name: given('application_name') ?? 'sallyport',
  };
  const mode = sslModeOf(given('sslmode') ?? env.PGSSLMODE ?? 'prefer');
  const servers = serversOf(hosts, params, env);
  const attempts = servers.flatMap(({ host, port }) => {
    const config = { ...definedOnly(common), ...definedOnly({ host, port }) };
    // A socket in the file system needs no TLS, as in libpq.
    if (host?.startsWith('/') === true || mode === 'disable' || mode === 'allow')
      return [{ config, isFallback: false }];
    const secured = { config: { ...config, ssl: tlsOf(mode, given) }, isFallback: false };
    return mode === 'prefer' ? [secured, { config, isFallback: true }] : [secured];
  });
  const target = given('target_session_attrs') ?? env.PGTARGETSESSIONATTRS;
  return { attempts, needsPrimary: servers.length > 1 || (target !== undefined && target !== 'any') };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that begins no escape.
    return text;
  }
}

type Server = { readonly host: string | undefined; readonly port: number | undefined };

/** `one:5432,two` in the URL, or lists in `host` and `port`. Without a host the client uses PGHOST or this machine. */
function serversOf(text: string, params: URLSearchParams, env: Readonly<Record<string, string | undefined>>): Server[] {
  const ports = (params.get('port') ?? '').split(',');
  const listed = params.get('host') ?? (text === '' ? env.PGHOST : undefined);
  if (listed !== undefined && listed !== '') {
    return listed.split(',').map((host, at) => ({ host, port: portOf(ports[at] ?? ports[0] ?? '') }));
  }
  return text.split(',').map((server, at) => {
    const { host = '', port = '' } = /^(?<host>\[[^\]]*\]|[^:]*)(?::(?<port>.*))?$/.exec(server)?.groups ?? {};
    const name = decoded(host.replace(/^\[(.*)\]$/, '$1'));
    return { host: name === '' ? undefined : name, port: portOf(port === '' ? (ports[at] ?? '') : port) };
  });
}

function portOf(text: string): number | undefined {
  if (text === '') return undefined;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new DatabaseUrlError(`${JSON.stringify(text)} is not a port`);
  return port;
}

function sslModeOf(text: string): SslMode {
  const mode = SSL_MODES.find((one) => one === text);
  if (mode === undefined) throw new DatabaseUrlError(`sslmode must be one of ${SSL_MODES.join(', ')}`);
  return mode;
}

/** With `require`, a certificate is verified only if the URL names authorities. `verify-ca` does not compare the name of the host. */
function tlsOf(mode: SslMode, given: (name: string) => string | undefined): TlsOptions {
  const authorities = given('sslrootcert');
  const verifies = mode.startsWith('verify') || (mode === 'require' && authorities !== undefined);
  const [certificate, key] = [given('sslcert'), given('sslkey')];
  return {
    rejectUnauthorized: verifies,
    ...(authorities === undefined || authorities === 'system' ? {} : { ca: readFile('sslrootcert', authorities) }),
    ...(certificate === undefined ? {} : { cert: readFile('sslcert', certificate) }),
    ...(key === undefined ? {} : { key: readFile('sslkey', key) }),
    ...(verifies && mode !== 'verify-full' ? { checkServerIdentity: () => undefined } : {}),
  };
}

function readFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    throw new DatabaseUrlError(`${name}: ${path} cannot be read (${code})`, { cause });
  }
}

function definedOnly<T extends object>(record: T): Partial<T> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Partial<T>;
}
