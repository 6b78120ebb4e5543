/** What an operator may set (contract §6): the `SALLYPORT_` variables, and the flags of the same meaning, as a `Config`. */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import type { Secret } from '../kernel/secret.ts';
import { LOG_LEVELS, type LogLevel } from '../observe/log.ts';
import type { Cidr } from '../outbound/ip-address.ts';
import { SETTING_NAMES, SETTINGS, type SettingName } from './names.ts';
import {
  type Reading,
  readCidrs,
  readDays,
  readHost,
  readOneOf,
  readOrigin,
  readPath,
  readPort,
  readProxy,
  refusePostgres,
} from './values.ts';

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
  /** How long events are kept once delivered, once dead or discarded, and attempts; 0: for ever. Pending events are always kept. */
  readonly retentionDeliveredDays: number;
  readonly retentionDeadDays: number;
  readonly retentionAttemptsDays: number;
  readonly logLevel: LogLevel;
};

/** A setting that cannot be used: the message names its variable or flag, says what is allowed, and shows no secret. */
export class ConfigurationError extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.name = 'ConfigurationError';
  }
}

type Reader<T> = {
  read(text: string): Reading<T>;
  /** The text that stands for a setting that is not set; null stays null. */
  readonly fallback: string | null;
};

const READERS: { readonly [Name in SettingName]: Reader<Config[Name]> } = {
  dataDir: { read: readPath, fallback: './data' },
  host: { read: readHost, fallback: '127.0.0.1' },
  port: { read: readPort, fallback: '8080' },
  publicUrl: { read: readOrigin, fallback: null },
  tlsCertFile: { read: readPath, fallback: null },
  tlsKeyFile: { read: readPath, fallback: null },
  masterKeyFile: { read: readPath, fallback: null },
  caFile: { read: readPath, fallback: null },
  egressAllow: { read: readCidrs, fallback: '' },
  egressProxy: { read: readProxy, fallback: null },
  trustedProxies: { read: readCidrs, fallback: '' },
  databaseUrl: { read: refusePostgres, fallback: null },
  retentionDeliveredDays: { read: readDays, fallback: '30' },
  retentionDeadDays: { read: readDays, fallback: '90' },
  retentionAttemptsDays: { read: readDays, fallback: '30' },
  logLevel: { read: readOneOf(LOG_LEVELS), fallback: 'info' },
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings. `flags` are by flag name without dashes and win over `env`, whose empty variables count as not
 * set. Throws `ConfigurationError` for a bad value or a `SALLYPORT_` variable that there is not.
 */
export function readConfig(env: Environment, flags: Environment = {}): Config {
  refuseUnknown(env);
  const config = Object.fromEntries(SETTING_NAMES.map((name) => [name, readSetting(name, env, flags)])) as Config;
  given.set(config, givenTexts(env, flags));
  refuseHalfTls(config);
  return config;
}

function refuseHalfTls(config: Config): void {
  if ((config.tlsCertFile === null) !== (config.tlsKeyFile === null)) {
    const [alone, missing] = config.tlsKeyFile === null ? CERTIFICATE_ALONE : KEY_ALONE;
    throw new ConfigurationError(`${alone} is set without ${missing}: TLS takes both, plain HTTP neither`);
  }
}

/** The settings as an embedding program writes them: each may be left out, and lists of addresses and the proxy's URL may be text. */
export type Options = {
  readonly [Name in SettingName]?:
    | Config[Name]
    | (Config[Name] extends readonly Cidr[] ? string | readonly (string | Cidr)[] : never)
    | (Secret extends Config[Name] ? string : never)
    | undefined;
};

/**
 * The configuration that `options` mean; what is left out has its default, and the environment is not read. What `readConfig` returned
 * is returned as it is. Throws `ConfigurationError`, which names the option, for a bad value or an option that does not exist.
 */
export function completeConfig(options: Options): Config {
  if (options === null || typeof options !== 'object')
    throw new ConfigurationError("the options must be an object, such as {dataDir: './data'}");
  if (given.has(options as Config)) return options as Config;
  const unknown = Object.keys(options).find((name) => !(SETTING_NAMES as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new ConfigurationError(`${unknown} is not an option; the options are: ${SETTING_NAMES.join(', ')}`);
  const config = Object.fromEntries(SETTING_NAMES.map((name) => [name, readOption(name, options[name])])) as Config;
  refuseHalfTls(config);
  return config;
}

function readOption(name: SettingName, value: unknown): unknown {
  const { fallback, read }: Reader<unknown> = READERS[name];
  const readText = (text: string): unknown => {
    const reading = read(text);
    if (reading.ok) return reading.value;
    throw new ConfigurationError(`${name} ${reading.problem}`);
  };
  if (value === undefined) return fallback === null ? null : readText(fallback);
  if (value === null && fallback === null) return null;
  if (typeof value === 'string') return readText(value);
  if (typeof value === 'number' && /^\d+$/.test(fallback ?? '')) return readText(String(value));
  if (Array.isArray(value) && (name === 'egressAllow' || name === 'trustedProxies'))
    return value.flatMap((block: unknown) => (isCidr(block) ? block : readText(String(block)))) as unknown;
  if (name === 'egressProxy' && isSecret(value)) return value;
  throw new ConfigurationError(`${name} must not be ${inspect(value, { depth: -1 })}`);
}

function isCidr(value: unknown): value is Cidr {
  return value !== null && typeof value === 'object' && 'bytes' in value && 'prefixLength' in value;
}

function isSecret(value: unknown): value is Secret {
  return value !== null && typeof value === 'object' && 'reveal' in value;
}

/** Where a setting came from, with the text that was given; null: its default. */
export type Given = { readonly by: 'flag' | 'environment'; readonly text: string } | null;

/** Where each setting of a configuration that `readConfig` made came from; null for one that a program put together itself. */
export function settingsGiven(config: Config): Readonly<Record<SettingName, Given>> | null {
  return given.get(config) ?? null;
}

/**
 * How a message about a setting begins: with the flag or the variable that gave it, such as `SALLYPORT_DATA: `. Nothing for a
 * configuration that a program put together, which knows where it has it from.
 */
export function settingPrefix(config: Config, name: SettingName): string {
  const settings = settingsGiven(config);
  if (settings === null) return '';
  const { variable, flag } = SETTINGS[name];
  return `${settings[name]?.by === 'flag' ? `--${flag}` : variable}: `;
}

/** The configuration with nothing set, for an embedding program to begin from. */
export function defaultConfig(): Config {
  return readConfig({});
}

/** Where a server with this configuration listens, in a URL that this machine can open; `port` is the one that it got. */
export function listeningUrl({ host, tlsCertFile }: Config, port: number): string {
  const everywhere = host === '0.0.0.0' || host === '::';
  const name = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${tlsCertFile === null ? 'http' : 'https'}://${name}:${port}`;
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

/** Beside the configuration, not in it: a copy that a program has changed is no longer what was given. */
const given = new WeakMap<Config, Readonly<Record<SettingName, Given>>>();

function givenTexts(env: Environment, flags: Environment): Readonly<Record<SettingName, Given>> {
  const texts = SETTING_NAMES.map((name): [SettingName, Given] => {
    const flag = flags[SETTINGS[name].flag];
    const set = env[SETTINGS[name].variable];
    if (flag !== undefined) return [name, { by: 'flag', text: flag }];
    return [name, set === undefined || set === '' ? null : { by: 'environment', text: set }];
  });
  return Object.fromEntries(texts) as Record<SettingName, Given>;
}

function readSetting(name: SettingName, env: Environment, flags: Environment): Config[SettingName] {
  const { variable, flag } = SETTINGS[name];
  const { read, fallback }: Reader<Config[SettingName]> = READERS[name];
  const set = env[variable] === '' ? undefined : env[variable];
  const text = flags[flag] ?? set ?? fallback;
  if (text === null) return null;
  const reading = read(text);
  if (reading.ok) return reading.value;
  throw new ConfigurationError(`${flags[flag] === undefined ? variable : `--${flag}`} ${reading.problem}`);
}
