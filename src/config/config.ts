/** The configuration (contract §6.3), read from `SALLYPORT_` variables, flags, or the options of an embedding program. */

import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { LOG_LEVELS } from '../kernel/log.ts';
import { didYouMean } from '../kernel/nearest.ts';
import type { Secret } from '../kernel/secret.ts';
import { databaseUrlParts } from '../kernel/url.ts';
import { type Cidr, formatCidr } from '../outbound/ip-address.ts';
import { type Config, type OutboundSetting, SETTING_NAMES, SETTINGS, type SettingName } from './names.ts';
import {
  type Reading,
  readAddresses,
  readCidrs,
  readDatabaseUrl,
  readDays,
  readFrameAncestors,
  readHost,
  readOneOf,
  readOrigin,
  readPath,
  readPort,
  readProxy,
} from './values.ts';

export type { Config } from './names.ts';

/** An invalid setting. The message names its variable or flag and the allowed values, without secrets. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

type Reader<T> = {
  read(text: string): Reading<T>;
  /** The text of an unset setting; null stays null. */
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
  customerEgressAllow: { read: readCidrs, fallback: '' },
  egressProxy: { read: readProxy, fallback: null },
  egressAddresses: { read: readAddresses, fallback: '' },
  trustedProxies: { read: readCidrs, fallback: '' },
  portalFrameAncestors: { read: readFrameAncestors, fallback: '' },
  databaseUrl: { read: readDatabaseUrl, fallback: null },
  databaseListenUrl: { read: readDatabaseUrl, fallback: null },
  retentionDeliveredDays: { read: readDays, fallback: '30' },
  retentionDeadDays: { read: readDays, fallback: '90' },
  retentionAttemptsDays: { read: readDays, fallback: '30' },
  logLevel: { read: readOneOf(LOG_LEVELS), fallback: 'info' },
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings. `flags` are by name without dashes and override `env`, in which empty variables count as unset. Throws
 * `ConfigurationError` for an invalid value or an unknown `SALLYPORT_` variable.
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
    const [present, missing] = config.tlsKeyFile === null ? CERTIFICATE_ALONE : KEY_ALONE;
    throw new ConfigurationError(`${present} is set without ${missing}: TLS needs both`);
  }
}

/** The settings of an embedding program. All are optional, and lists of addresses and the URL of the proxy may be text. */
export type Options = {
  readonly [Name in keyof Config]?:
    | Config[Name]
    | (Config[Name] extends readonly Cidr[] ? string | readonly (string | Cidr)[] : never)
    | (Config[Name] extends readonly string[] ? string : never)
    | (Secret extends Config[Name] ? string : never)
    | undefined;
};

/**
 * The configuration for `options`, with defaults; does not read the environment. Returns a result of `readConfig` unchanged. Throws
 * `ConfigurationError` with the name of the option for an invalid value or an unknown option. `others`: options that are no settings.
 */
export function completeConfig(options: Options, others: readonly string[] = []): Config {
  if (options === null || typeof options !== 'object')
    throw new ConfigurationError("the options must be an object, such as {dataDir: './data'}");
  if (given.has(options as Config)) return options as Config;
  const known: readonly string[] = [...SETTING_NAMES, ...others];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new ConfigurationError(`${unknown} is not an option; the options are: ${known.join(', ')}`);
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
  if (Array.isArray(value) && LISTS_OF_BLOCKS.includes(name))
    return value.flatMap((block: unknown) => (isCidr(block) ? block : readText(String(block)))) as unknown;
  if (Array.isArray(value) && LISTS_OF_TEXTS.includes(name)) return readText(value.map(String).join(','));
  if (isSecret(value) && SECRETS.includes(name)) return value;
  throw new ConfigurationError(`${name} must not be ${inspect(value, { depth: -1 })}`);
}

const LISTS_OF_BLOCKS: readonly SettingName[] = ['egressAllow', 'customerEgressAllow', 'trustedProxies'];
const LISTS_OF_TEXTS: readonly SettingName[] = ['portalFrameAncestors', 'egressAddresses'];
const SECRETS: readonly SettingName[] = ['egressProxy', 'databaseUrl', 'databaseListenUrl'];

function isCidr(value: unknown): value is Cidr {
  return value !== null && typeof value === 'object' && 'bytes' in value && 'prefixLength' in value;
}

function isSecret(value: unknown): value is Secret {
  return value !== null && typeof value === 'object' && 'reveal' in value;
}

/** The source of a setting and its text; null for the default. */
type Given = { readonly by: 'flag' | 'environment'; readonly text: string } | null;

/** The sources of the settings of a configuration from `readConfig`; null for one that a program created itself. */
export function settingsGiven(config: Config): Readonly<Record<SettingName, Given>> | null {
  return given.get(config) ?? null;
}

/**
 * The prefix of a message about a setting: its flag or variable, such as `SALLYPORT_DATA: `. Empty for a configuration that a program
 * created itself.
 */
export function settingPrefix(config: Config, name: SettingName): string {
  const settings = settingsGiven(config);
  if (settings === null) return '';
  const { variable, flag } = SETTINGS[name];
  return `${settings[name]?.by === 'flag' ? `--${flag}` : variable}: `;
}

/** The text of a setting, which `withSettings` reads back; null if it is not set. It may contain a password. */
export function settingText(config: Config, name: OutboundSetting): string | null {
  const value = config[name];
  if (value === null || typeof value === 'string') return value;
  return 'reveal' in value ? value.reveal() : value.map(formatCidr).join(',');
}

/** The configuration with some settings replaced by texts, null for unset, except for settings that were given as flags. */
export function withSettings(config: Config, texts: Readonly<Partial<Record<SettingName, string | null>>>): Config {
  const sources = settingsGiven(config);
  const names = SETTING_NAMES.filter((name) => texts[name] !== undefined && sources?.[name]?.by !== 'flag');
  const replaced = names.map((name) => [name, readOption(name, texts[name] ?? undefined)]);
  const changed: Config = { ...config, ...Object.fromEntries(replaced) };
  if (sources !== null) given.set(changed, sources);
  return changed;
}

/** Where the data is, for people: the data folder, or the host and name of the database without credentials. */
export function dataPlace({ dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>): string {
  return databaseUrl === null ? dataDir : databaseName(databaseUrl);
}

/** The hosts and the name in the URL of a database, such as `db.example/sallyport`, without credentials and parameters. */
export function databaseName(url: Secret): string {
  const parts = databaseUrlParts(url.reveal());
  // `readDatabaseUrl` has refused all others.
  if (parts === null) return '';
  return parts.database === '' ? parts.hosts : `${parts.hosts}/${parts.database}`;
}

/** The URL of a server with this configuration, for use on the same machine. `port`: the actual port. */
export function listeningUrl({ host, tlsCertFile }: Config, port: number): string {
  const everywhere = host === '0.0.0.0' || host === '::';
  const name = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${tlsCertFile === null ? 'http' : 'https'}://${name}:${port}`;
}

/** The text of a file that a setting names. Throws `ConfigurationError` if it cannot be read. */
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
  const advice = didYouMean(unknown, known) || `. The settings are: ${known.join(', ')}`;
  throw new ConfigurationError(`${unknown} is not a setting${advice}`);
}

/** Not part of the configuration, because a changed copy must not have sources. */
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
