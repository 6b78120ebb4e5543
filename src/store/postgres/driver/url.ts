/**
 * The URL of a PostgreSQL database as libpq reads it (PostgreSQL, "Connection URIs"): several hosts, `sslmode`, `target_session_attrs`.
 * Where the URL says nothing, the variables PGHOST, PGUSER and so on count, and the password file.
 *
 * Other than in libpq, a server must be writable unless `target_session_attrs=any`, and a parameter that Sallyport does not know is
 * refused.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import tls, { type ConnectionOptions as TlsOptions } from 'node:tls';
import type pg from 'pg';
import { databaseUrlParts } from '../../../kernel/url.ts';
import { readPasswordFile } from './password-file.ts';

/** The time limit of a connection attempt, unless the URL sets `connect_timeout`. */
const POSTGRES_CONNECT_MS = 5000;

export type ConnectionPlan = {
  /** For each server the ways to connect to it, to be tried in this order: with TLS, without, or both. */
  readonly servers: readonly (readonly pg.ClientConfig[])[];
  /** A server that cannot be written is skipped. */
  readonly needsPrimary: boolean;
  /** The time limit of one attempt. */
  readonly connectMs: number;
};

/** The URL cannot be used. The message says why, without the password. */
export class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Parameters of the URL, and the variables that count without them. */
const VARIABLES = {
  host: 'PGHOST',
  port: 'PGPORT',
  dbname: 'PGDATABASE',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  passfile: 'PGPASSFILE',
  application_name: 'PGAPPNAME',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  options: 'PGOPTIONS',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
} as const;
type Parameter = keyof typeof VARIABLES;
type Given = (name: Parameter) => string | undefined;

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];
const TARGETS = ['any', 'read-write', 'primary'];

/** Parses the URL. Throws `DatabaseUrlError`. Files of certificates are read now, the password file when a server asks for a password. */
export function planConnections(url: string, env: Environment = process.env): ConnectionPlan {
  const parsed = databaseUrlParts(url);
  if (parsed === null) throw new DatabaseUrlError('the URL is not one of a PostgreSQL database');
  const { credentials, hosts, database, query } = parsed;
  const params = new URLSearchParams(query.replaceAll('+', '%2B'));
  refuseUnknown(params);
  const [user = '', ...password] = credentials.split(':');
  const parts: Readonly<Partial<Record<Parameter, string>>> = {
    user: decoded(user),
    password: decoded(password.join(':')),
    dbname: decoded(database),
  };
  const given: Given = (name) => params.get(name) ?? (parts[name] || undefined) ?? (env[VARIABLES[name]] || undefined);
  const role = given('user') ?? userInfo().username;
  const name = given('dbname') ?? role;
  const mode = oneOf(SSL_MODES, 'sslmode', given('sslmode') ?? 'prefer');
  const tlsOptions = mode === 'disable' ? false : tlsOf(mode, given);
  const options = given('options');
  const listed = params.get('host') ?? (hosts === '' ? given('host') : undefined);
  const servers = serversOf(hosts, listed, given('port') ?? '').map(({ host, port }) => {
    const wanted = { host: host.startsWith('/') ? 'localhost' : host, port: String(port), database: name, user: role };
    const plain: pg.ClientConfig = {
      host,
      port,
      user: role,
      database: name,
      ssl: false,
      application_name: given('application_name') ?? 'sallyport',
      password: async () => given('password') ?? passwordFor(wanted, given, env),
      ...(options === undefined ? {} : { options }),
    };
    // A socket in the file system needs no TLS, as in libpq.
    if (tlsOptions === false || host.startsWith('/')) return [plain];
    const secured = { ...plain, ssl: tlsOptions };
    if (mode === 'allow') return [plain, secured];
    return mode === 'prefer' ? [secured, plain] : [secured];
  });
  const target = oneOf(TARGETS, 'target_session_attrs', given('target_session_attrs') ?? 'read-write');
  return { servers, needsPrimary: target !== 'any', connectMs: connectMsOf(given('connect_timeout')) };
}

function refuseUnknown(params: URLSearchParams): void {
  const unknown = [...params.keys()].find((name) => !(name in VARIABLES));
  if (unknown === undefined) return;
  throw new DatabaseUrlError(
    `the URL has the parameter ${JSON.stringify(unknown)}, which Sallyport does not support; it supports ` +
      `${Object.keys(VARIABLES).join(', ')}`,
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that begins no escape.
    return text;
  }
}

function passwordFor(wanted: Parameters<typeof readPasswordFile>[1], given: Given, env: Environment): string {
  const path = given('passfile') ?? join(env.HOME ?? homedir(), '.pgpass');
  const { password, problem } = readPasswordFile(path, wanted);
  if (password !== null) return password;
  const reason = problem ?? `neither the URL nor ${path} has one for ${wanted.user}`;
  throw new DatabaseUrlError(`the server asks for a password: ${reason}`);
}

type Server = { readonly host: string; readonly port: number };

/** `one:5432,two` in the URL, or lists of hosts and ports. One port counts for all hosts. */
function serversOf(text: string, listed: string | undefined, listedPorts: string): Server[] {
  const ports = listedPorts.split(',');
  const hosts = (listed ?? text).split(',');
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new DatabaseUrlError(`the URL names ${hosts.length} hosts and ${ports.length} ports`);
  return hosts.map((server, at) => {
    const parts =
      listed === undefined ? /^(?<host>\[[^\]]*\]|[^:]*)(?::(?<port>.*))?$/.exec(server)?.groups : undefined;
    const { host = server, port } = parts ?? {};
    const name = decoded(host.replace(/^\[(.*)\]$/, '$1'));
    return { host: name || 'localhost', port: portOf(port || (ports[at] ?? ports[0] ?? '')) };
  });
}

function portOf(text: string): number {
  if (text === '') return 5432;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new DatabaseUrlError(`${JSON.stringify(text)} is not a port`);
  return port;
}

/** Whole seconds. As in libpq, zero and less set no limit, so the usual one remains. */
function connectMsOf(text: string | undefined): number {
  if (text === undefined) return POSTGRES_CONNECT_MS;
  if (!/^-?\d{1,9}$/.test(text)) throw new DatabaseUrlError('connect_timeout must be a number of seconds');
  const seconds = Number(text);
  return seconds > 0 ? seconds * 1000 : POSTGRES_CONNECT_MS;
}

function oneOf<T extends string>(values: readonly T[], name: Parameter, text: string): T {
  const found = values.find((value) => value === text);
  if (found === undefined) throw new DatabaseUrlError(`${name} must be one of ${values.join(', ')}`);
  return found;
}

/**
 * As in libpq: `require` verifies only if there is a file of authorities. `verify-ca` does not compare the name of the host. Files in
 * ~/.postgresql count where the URL names none.
 */
function tlsOf(mode: SslMode, given: Given): TlsOptions {
  const authorities = given('sslrootcert') ?? usual('root.crt');
  const verifies = mode.startsWith('verify') || (mode === 'require' && authorities !== undefined);
  if (authorities === 'system' && mode !== 'verify-full')
    throw new DatabaseUrlError('sslrootcert=system needs sslmode=verify-full');
  if (mode.startsWith('verify') && authorities === undefined) {
    throw new DatabaseUrlError(
      `sslmode=${mode} needs sslrootcert: a file of certificate authorities, or system with sslmode=verify-full`,
    );
  }
  const certificate = given('sslcert') ?? usual('postgresql.crt');
  const key = given('sslkey') ?? (certificate === undefined ? undefined : usual('postgresql.key'));
  return {
    rejectUnauthorized: verifies,
    ...(verifies ? { ca: authorities === 'system' ? systemAuthorities() : readFile('sslrootcert', authorities) } : {}),
    ...(certificate === undefined ? {} : { cert: readFile('sslcert', certificate) }),
    ...(key === undefined ? {} : { key: readKey(key) }),
    ...(verifies && mode !== 'verify-full' ? { checkServerIdentity: () => undefined } : {}),
  };
}

/** A file of libpq, if it exists. */
function usual(name: string): string | undefined {
  const path = join(homedir(), '.postgresql', name);
  return existsSync(path) ? path : undefined;
}

/** The certificate authorities of the machine and of Node. */
function systemAuthorities(): string[] {
  return [...tls.getCACertificates('system'), ...tls.getCACertificates('default')];
}

/** As in libpq, others must not be able to read the key; a group may if root owns it. */
function readKey(path: string): string {
  const text = readFile('sslkey', path);
  const { mode, uid } = statSync(path);
  if (process.platform !== 'win32' && (mode & (uid === 0 ? 0o037 : 0o077)) !== 0)
    throw new DatabaseUrlError(`sslkey: others may read ${path}: chmod 0600 ${path}`);
  return text;
}

function readFile(name: string, path = ''): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    throw new DatabaseUrlError(`${name}: ${path} cannot be read (${code})`, { cause });
  }
}
