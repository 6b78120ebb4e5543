/**
 * The names of what an operator may set (contract §6): a `SALLYPORT_` variable and the flag of the same meaning. Apart from
 * how they are read, because help needs the names alone.
 */

export type SettingName =
  | 'dataDir'
  | 'host'
  | 'port'
  | 'publicUrl'
  | 'tlsCertFile'
  | 'tlsKeyFile'
  | 'masterKeyFile'
  | 'caFile'
  | 'egressAllow'
  | 'egressProxy'
  | 'trustedProxies'
  | 'databaseUrl'
  | 'retentionDeliveredDays'
  | 'retentionDeadDays'
  | 'retentionAttemptsDays'
  | 'logLevel';

export type SettingText = {
  readonly variable: string;
  /** Without its dashes. */
  readonly flag: string;
  /** How help shows what it takes: `<file>`. */
  readonly value: string;
  /** Ends in what it is when it is not set, in brackets. */
  readonly description: string;
};

export const SETTINGS: Readonly<Record<SettingName, SettingText>> = {
  dataDir: {
    variable: 'SALLYPORT_DATA',
    flag: 'data',
    value: '<folder>',
    description: 'Where everything is kept (./data)',
  },
  host: {
    variable: 'SALLYPORT_HOST',
    flag: 'host',
    value: '<address>',
    description: 'The address to listen on (127.0.0.1)',
  },
  port: {
    variable: 'SALLYPORT_PORT',
    flag: 'port',
    value: '<number>',
    description: 'The port to listen on; 0 takes any free one (8080)',
  },
  publicUrl: {
    variable: 'SALLYPORT_PUBLIC_URL',
    flag: 'public-url',
    value: '<url>',
    description: 'The address that clients see, such as https://edge.example',
  },
  tlsCertFile: {
    variable: 'SALLYPORT_TLS_CERT_FILE',
    flag: 'tls-cert-file',
    value: '<file>',
    description: "The server's certificate and chain in PEM; without it plain HTTP is served",
  },
  tlsKeyFile: {
    variable: 'SALLYPORT_TLS_KEY_FILE',
    flag: 'tls-key-file',
    value: '<file>',
    description: "The certificate's private key in PEM",
  },
  masterKeyFile: {
    variable: 'SALLYPORT_MASTER_KEY_FILE',
    flag: 'master-key-file',
    value: '<file>',
    description: 'The key under which secrets are kept (master.key in the data folder)',
  },
  caFile: {
    variable: 'SALLYPORT_CA_FILE',
    flag: 'ca-file',
    value: '<file>',
    description: 'Further authorities in PEM that endpoints may have their certificates from',
  },
  egressAllow: {
    variable: 'SALLYPORT_EGRESS_ALLOW',
    flag: 'egress-allow',
    value: '<blocks>',
    description: 'CIDR blocks that may be sent to although they are not public, comma-separated',
  },
  egressProxy: {
    variable: 'SALLYPORT_EGRESS_PROXY',
    flag: 'egress-proxy',
    value: '<url>',
    description: 'An HTTP CONNECT proxy for everything outbound, as http://[user:password@]host:port',
  },
  trustedProxies: {
    variable: 'SALLYPORT_TRUSTED_PROXIES',
    flag: 'trusted-proxies',
    value: '<blocks>',
    description: 'CIDR blocks of the proxies whose X-Forwarded-For counts, comma-separated',
  },
  databaseUrl: {
    variable: 'SALLYPORT_DATABASE_URL',
    flag: 'database-url',
    value: '<url>',
    description: 'For PostgreSQL, which this version does not have yet',
  },
  retentionDeliveredDays: {
    variable: 'SALLYPORT_RETENTION_DELIVERED_DAYS',
    flag: 'retention-delivered-days',
    value: '<days>',
    description: 'How long delivered events are kept; 0 keeps them for ever (30)',
  },
  retentionDeadDays: {
    variable: 'SALLYPORT_RETENTION_DEAD_DAYS',
    flag: 'retention-dead-days',
    value: '<days>',
    description: 'How long dead and discarded events are kept; 0 keeps them for ever (90)',
  },
  retentionAttemptsDays: {
    variable: 'SALLYPORT_RETENTION_ATTEMPTS_DAYS',
    flag: 'retention-attempts-days',
    value: '<days>',
    description: 'How long attempts are kept; 0 keeps them as long as their events (30)',
  },
  logLevel: {
    variable: 'SALLYPORT_LOG_LEVEL',
    flag: 'log-level',
    value: '<level>',
    description: 'How much is logged: fatal, error, warn, info, debug, trace or silent (info)',
  },
};

export const SETTING_NAMES: readonly SettingName[] = Object.keys(SETTINGS) as SettingName[];
