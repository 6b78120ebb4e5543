/**
 * The settings (contract §6.3) with their names and descriptions: a `SALLYPORT_` variable and a flag each. In a file of their own, because
 * help needs only these.
 */
import type { LogLevel } from '../kernel/log.ts';
import type { Secret } from '../kernel/secret.ts';
import type { Cidr } from '../outbound/ip-address.ts';

export type Config = {
  /** The folder of all data, or with `databaseUrl` only of the master key; absolute. */
  readonly dataDir: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The origin that clients use, such as `https://edge.example`; null: the listening address. */
  readonly publicUrl: string | null;
  readonly tlsCertFile: string | null;
  readonly tlsKeyFile: string | null;
  /** null: `master.key` in the data folder. */
  readonly masterKeyFile: string | null;
  readonly caFile: string | null;
  /** For the operator's own endpoints. */
  readonly egressAllow: readonly Cidr[];
  /** For the endpoints of customers. */
  readonly customerEgressAllow: readonly Cidr[];
  /** The URL of a CONNECT proxy; it may hold a password. */
  readonly egressProxy: Secret | null;
  readonly trustedProxies: readonly Cidr[];
  /** Origins whose pages may show a customer's portal in a frame, such as `https://shop.example`. */
  readonly portalFrameAncestors: readonly string[];
  /** The addresses and CIDR blocks from which this service sends, for the firewalls of receivers. Only shown. */
  readonly egressAddresses: readonly string[];
  /** A PostgreSQL database; null: an SQLite file in the data folder. The URL may contain a password. */
  readonly databaseUrl: Secret | null;
  /** The database for LISTEN if `databaseUrl` leads through a pooler that gives each transaction another connection. */
  readonly databaseListenUrl: Secret | null;
  /** Retention of delivered events, of dead and discarded events, and of attempts; 0: forever. Pending events are always kept. */
  readonly retentionDeliveredDays: number;
  readonly retentionDeadDays: number;
  readonly retentionAttemptsDays: number;
  readonly logLevel: LogLevel;
};

export type SettingName = keyof Config;

/** The settings of outbound requests. A command sends with those of the running server. */
export type OutboundSetting = (typeof OUTBOUND_NAMES)[number];
export const OUTBOUND_NAMES = ['caFile', 'egressAllow', 'customerEgressAllow', 'egressProxy'] as const;

type SettingText = {
  readonly variable: string;
  /** Without dashes. */
  readonly flag: string;
  /** The value in help: `<file>`. */
  readonly value: string;
  /** Ends with the default. */
  readonly description: string;
};

export const SETTINGS: Readonly<Record<SettingName, SettingText>> = {
  dataDir: setting('data', '<folder>', 'The folder of all data (default: ./data)'),
  host: setting('host', '<address>', 'The address to listen on (default: 127.0.0.1)'),
  port: setting('port', '<number>', 'The port to listen on; 0 is any free port (default: 8080)'),
  publicUrl: setting('public-url', '<url>', 'The public address, such as https://edge.example'),
  tlsCertFile: setting(
    'tls-cert-file',
    '<file>',
    'The TLS certificate and its chain in PEM; without it, the server uses plain HTTP',
  ),
  tlsKeyFile: setting('tls-key-file', '<file>', 'The private key of the certificate in PEM'),
  masterKeyFile: setting(
    'master-key-file',
    '<file>',
    'The key that encrypts stored secrets (default: master.key in the data folder)',
  ),
  caFile: setting('ca-file', '<file>', 'Additional certificate authorities to trust for endpoints, in PEM'),
  egressAllow: setting(
    'egress-allow',
    '<blocks>',
    "Non-public CIDR blocks to which the operator's own webhooks may send, comma-separated",
  ),
  customerEgressAllow: setting(
    'customer-egress-allow',
    '<blocks>',
    'Non-public CIDR blocks to which webhooks of customers may send, comma-separated',
  ),
  egressProxy: setting(
    'egress-proxy',
    '<url>',
    'An HTTP CONNECT proxy for all outbound requests, as http://[user:password@]host:port',
  ),
  egressAddresses: setting(
    'egress-addresses',
    '<addresses>',
    'The addresses from which deliveries come, shown for the firewalls of receivers, comma-separated',
  ),
  trustedProxies: setting(
    'trusted-proxies',
    '<blocks>',
    'CIDR blocks of proxies whose X-Forwarded-For is trusted, comma-separated',
  ),
  portalFrameAncestors: setting(
    'portal-frame-ancestors',
    '<origins>',
    "Origins whose pages may show a customer's portal in a frame, comma-separated",
  ),
  databaseUrl: setting(
    'database-url',
    '<url>',
    'A PostgreSQL database for several instances, as postgres://user[:password]@host[:port]/database (default: SQLite in the data folder)',
  ),
  databaseListenUrl: setting(
    'database-listen-url',
    '<url>',
    'The same database without a pooler, for notifications, if --database-url leads through PgBouncer in transaction mode',
  ),
  retentionDeliveredDays: setting(
    'retention-delivered-days',
    '<days>',
    'Retention of delivered events; 0 keeps them forever (default: 30)',
  ),
  retentionDeadDays: setting(
    'retention-dead-days',
    '<days>',
    'Retention of dead and discarded events; 0 keeps them forever (default: 90)',
  ),
  retentionAttemptsDays: setting(
    'retention-attempts-days',
    '<days>',
    'Retention of attempts; 0 keeps them as long as their events (default: 30)',
  ),
  logLevel: setting(
    'log-level',
    '<level>',
    'The log level: fatal, error, warn, info, debug, trace or silent (default: info)',
  ),
};

export const SETTING_NAMES: readonly SettingName[] = Object.keys(SETTINGS) as SettingName[];

/** The variable is the flag in upper case: `--public-url` is `SALLYPORT_PUBLIC_URL`. */
function setting(flag: string, value: string, description: string): SettingText {
  return { variable: `SALLYPORT_${flag.toUpperCase().replaceAll('-', '_')}`, flag, value, description };
}
