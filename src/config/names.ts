/**
 * The names and descriptions of the settings (contract §6): a `SALLYPORT_` variable and a flag each. In a file of their own, because help
 * needs only these.
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
  /** Without dashes. */
  readonly flag: string;
  /** The value in help: `<file>`. */
  readonly value: string;
  /** Ends with the default. */
  readonly description: string;
};

export const SETTINGS: Readonly<Record<SettingName, SettingText>> = {
  dataDir: {
    variable: 'SALLYPORT_DATA',
    flag: 'data',
    value: '<folder>',
    description: 'The folder of all data (default: ./data)',
  },
  host: {
    variable: 'SALLYPORT_HOST',
    flag: 'host',
    value: '<address>',
    description: 'The address to listen on (default: 127.0.0.1)',
  },
  port: {
    variable: 'SALLYPORT_PORT',
    flag: 'port',
    value: '<number>',
    description: 'The port to listen on; 0 is any free port (default: 8080)',
  },
  publicUrl: {
    variable: 'SALLYPORT_PUBLIC_URL',
    flag: 'public-url',
    value: '<url>',
    description: 'The public address, such as https://edge.example',
  },
  tlsCertFile: {
    variable: 'SALLYPORT_TLS_CERT_FILE',
    flag: 'tls-cert-file',
    value: '<file>',
    description: 'The TLS certificate and its chain in PEM; without it, the server uses plain HTTP',
  },
  tlsKeyFile: {
    variable: 'SALLYPORT_TLS_KEY_FILE',
    flag: 'tls-key-file',
    value: '<file>',
    description: 'The private key of the certificate in PEM',
  },
  masterKeyFile: {
    variable: 'SALLYPORT_MASTER_KEY_FILE',
    flag: 'master-key-file',
    value: '<file>',
    description: 'The key that encrypts stored secrets (default: master.key in the data folder)',
  },
  caFile: {
    variable: 'SALLYPORT_CA_FILE',
    flag: 'ca-file',
    value: '<file>',
    description: 'Additional certificate authorities to trust for endpoints, in PEM',
  },
  egressAllow: {
    variable: 'SALLYPORT_EGRESS_ALLOW',
    flag: 'egress-allow',
    value: '<blocks>',
    description: 'Non-public CIDR blocks to which webhooks may send, comma-separated',
  },
  egressProxy: {
    variable: 'SALLYPORT_EGRESS_PROXY',
    flag: 'egress-proxy',
    value: '<url>',
    description: 'An HTTP CONNECT proxy for all outbound requests, as http://[user:password@]host:port',
  },
  trustedProxies: {
    variable: 'SALLYPORT_TRUSTED_PROXIES',
    flag: 'trusted-proxies',
    value: '<blocks>',
    description: 'CIDR blocks of proxies whose X-Forwarded-For is trusted, comma-separated',
  },
  databaseUrl: {
    variable: 'SALLYPORT_DATABASE_URL',
    flag: 'database-url',
    value: '<url>',
    description: 'For PostgreSQL, which this version does not support yet',
  },
  retentionDeliveredDays: {
    variable: 'SALLYPORT_RETENTION_DELIVERED_DAYS',
    flag: 'retention-delivered-days',
    value: '<days>',
    description: 'Retention of delivered events; 0 keeps them forever (default: 30)',
  },
  retentionDeadDays: {
    variable: 'SALLYPORT_RETENTION_DEAD_DAYS',
    flag: 'retention-dead-days',
    value: '<days>',
    description: 'Retention of dead and discarded events; 0 keeps them forever (default: 90)',
  },
  retentionAttemptsDays: {
    variable: 'SALLYPORT_RETENTION_ATTEMPTS_DAYS',
    flag: 'retention-attempts-days',
    value: '<days>',
    description: 'Retention of attempts; 0 keeps them as long as their events (default: 30)',
  },
  logLevel: {
    variable: 'SALLYPORT_LOG_LEVEL',
    flag: 'log-level',
    value: '<level>',
    description: 'The log level: fatal, error, warn, info, debug, trace or silent (default: info)',
  },
};

export const SETTING_NAMES: readonly SettingName[] = Object.keys(SETTINGS) as SettingName[];
