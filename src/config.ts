/** What an operator may set (wire.md §6): the `SALLYPORT_` variables, and the flags of the same meaning, as a `Config`. */
import { readFileSync } from 'node:fs';
import {
  type CommandLineSetting,
  type Reading,
  readCidrs,
  readHost,
  readOneOf,
  readOrigin,
  readPath,
  readPort,
  readProxy,
  refusePostgres,
} from './config-values.ts';
import { LOG_LEVELS, type LogLevel } from './log.ts';
import type { Cidr } from './outbound/ip-address.ts';
import type { Secret } from './secret.ts';

export type Config = {
  /** The folder of everything that is kept, absolute. */
  readonly dataDir: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The origin that clients see, such as `https://edge.example`; null: the address that is listened on. */
  readonly publicUrl: string | null;
  readonly tlsCertFile: string | null;
  readonly tlsKeyFile: string | null;
  /** null: `master.key` in the data folder. */
  readonly masterKeyFile: string | null;
  readonly caFile: string | null;
  readonly egressAllow: readonly Cidr[];
  /** The URL of a CONNECT proxy; it may hold a password. */
  readonly egressProxy: Secret | null;
  readonly trustedProxies: readonly Cidr[];
  /** This version has SQLite alone. */
  readonly databaseUrl: null;
  readonly logLevel: LogLevel;
};

export type SettingName = keyof Config;

/** A setting that cannot be used: the message names its variable or flag, says what is allowed, and shows no secret. */
export class ConfigurationError extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.name = 'ConfigurationError';
  }
}

/** `fallback` is the text that stands for a setting that is not set; null stays null. */
type Setting<T> = CommandLineSetting & { read(text: string): Reading<T>; readonly fallback: string | null };

const file = { value: '<file>', read: readPath, fallback: null };

const SETTINGS: { readonly [Name in SettingName]: Setting<Config[Name]> } = {
  dataDir: {
    variable: 'SALLYPORT_DATA',
    flag: 'data',
    value: '<folder>',
    description: 'Where everything is kept (./data)',
    read: readPath,
    fallback: './data',
  },
  host: {
    variable: 'SALLYPORT_HOST',
    flag: 'host',
    value: '<address>',
    description: 'The address to listen on (127.0.0.1)',
    read: readHost,
    fallback: '127.0.0.1',
  },
  port: {
    variable: 'SALLYPORT_PORT',
    flag: 'port',
    value: '<number>',
    description: 'The port to listen on; 0 takes any free one (8080)',
    read: readPort,
    fallback: '8080',
  },
  publicUrl: {
    variable: 'SALLYPORT_PUBLIC_URL',
    flag: 'public-url',
    value: '<url>',
    description: 'The address that clients see, such as https://edge.example',
    read: readOrigin,
    fallback: null,
  },
  tlsCertFile: {
    ...file,
    variable: 'SALLYPORT_TLS_CERT_FILE',
    flag: 'tls-cert-file',
    description: "The server's certificate and chain in PEM; without it plain HTTP is served",
  },
  tlsKeyFile: {
    ...file,
    variable: 'SALLYPORT_TLS_KEY_FILE',
    flag: 'tls-key-file',
    description: "The certificate's private key in PEM",
  },
  masterKeyFile: {
    ...file,
    variable: 'SALLYPORT_MASTER_KEY_FILE',
    flag: 'master-key-file',
    description: 'The key under which secrets are kept (master.key in the data folder)',
  },
  caFile: {
    ...file,
    variable: 'SALLYPORT_CA_FILE',
    flag: 'ca-file',
    description: 'Further authorities in PEM that endpoints may have their certificates from',
  },
  egressAllow: {
    variable: 'SALLYPORT_EGRESS_ALLOW',
    flag: 'egress-allow',
    value: '<blocks>',
    description: 'CIDR blocks that may be sent to although they are not public, comma-separated',
    read: readCidrs,
    fallback: '',
  },
  egressProxy: {
    variable: 'SALLYPORT_EGRESS_PROXY',
    flag: 'egress-proxy',
    value: '<url>',
    description: 'An HTTP CONNECT proxy for everything outbound, as http://[user:password@]host:port',
    read: readProxy,
    fallback: null,
  },
  trustedProxies: {
    variable: 'SALLYPORT_TRUSTED_PROXIES',
    flag: 'trusted-proxies',
    value: '<blocks>',
    description: 'CIDR blocks of the proxies whose X-Forwarded-For counts, comma-separated',
    read: readCidrs,
    fallback: '',
  },
  databaseUrl: {
    variable: 'SALLYPORT_DATABASE_URL',
    flag: 'database-url',
    value: '<url>',
    description: 'For PostgreSQL, which this version does not have yet',
    read: refusePostgres,
    fallback: null,
  },
  logLevel: {
    variable: 'SALLYPORT_LOG_LEVEL',
    flag: 'log-level',
    value: '<level>',
    description: `How much is logged: ${LOG_LEVELS.join(', ')} (info)`,
    read: readOneOf(LOG_LEVELS),
    fallback: 'info',
  },
};

export const SETTING_NAMES: readonly SettingName[] = Object.keys(SETTINGS) as SettingName[];

/** How a setting is named and described on the command line. */
export function settingOnCommandLine(name: SettingName): CommandLineSetting {
  return SETTINGS[name];
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings. `flags` are by flag name without dashes and win over `env`, whose empty variables count as not
 * set. Throws `ConfigurationError` for a bad value or a `SALLYPORT_` variable that there is not.
 */
export function readConfig(env: Environment, flags: Environment = {}): Config {
  refuseUnknown(env);
  const config = Object.fromEntries(SETTING_NAMES.map((name) => [name, readSetting(name, env, flags)])) as Config;
  if ((config.tlsCertFile === null) !== (config.tlsKeyFile === null)) {
    const [given, missing] = config.tlsKeyFile === null ? CERTIFICATE_ALONE : KEY_ALONE;
    throw new ConfigurationError(`${given} is set without ${missing}: TLS takes both, plain HTTP neither`);
  }
  return config;
}

/** The configuration with nothing set, for an embedding program to begin from. */
export function defaultConfig(): Config {
  return readConfig({});
}

/** The text of a file that a setting names. Throws `ConfigurationError` when it cannot be read. */
export function readSettingFile(name: SettingName, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    throw new ConfigurationError(`${SETTINGS[name].variable}: ${path} cannot be read (${code})`, { cause });
  }
}

const CERTIFICATE_ALONE = [SETTINGS.tlsCertFile.variable, SETTINGS.tlsKeyFile.variable] as const;
const KEY_ALONE = [SETTINGS.tlsKeyFile.variable, SETTINGS.tlsCertFile.variable] as const;

function refuseUnknown(env: Environment): void {
  const known = SETTING_NAMES.map((name) => SETTINGS[name].variable);
  const unknown = Object.keys(env).find((variable) => variable.startsWith('SALLYPORT_') && !known.includes(variable));
  if (unknown === undefined) return;
  throw new ConfigurationError(`${unknown} is not a setting; those that there are: ${known.join(', ')}`);
}

function readSetting(name: SettingName, env: Environment, flags: Environment): Config[SettingName] {
  const { variable, flag, read, fallback }: Setting<Config[SettingName]> = SETTINGS[name];
  const set = env[variable] === '' ? undefined : env[variable];
  const text = flags[flag] ?? set ?? fallback;
  if (text === null) return null;
  const reading = read(text);
  if (reading.ok) return reading.value;
  throw new ConfigurationError(`${flags[flag] === undefined ? variable : `--${flag}`} ${reading.problem}`);
}
