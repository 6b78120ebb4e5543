/**
 * The settings of a session that change the meaning or the plans of statements. The server takes them from its configuration, the database,
 * the role and the URL, so each of them may have any value. The driver does not change the settings of the administrator:
 * `default_transaction_read_only`, `synchronous_commit`, `role`, and where tables are stored.
 */

/** The settings of a session for each of its transactions. */
const SETTINGS: Readonly<Record<string, string>> = {
  // How values and statements are written and read.
  array_nulls: 'on',
  bytea_output: 'hex',
  DateStyle: 'ISO, MDY',
  extra_float_digits: '1',
  IntervalStyle: 'postgres',
  quote_all_identifiers: 'off',
  standard_conforming_strings: 'on',
  TimeZone: 'UTC',
  transform_null_equals: 'off',
  // Warnings arrive.
  client_min_messages: 'warning',
  exit_on_error: 'off',
  // Only the limits of this driver count.
  lock_timeout: '0',
  statement_timeout: '0',
  /**
   * The shared statements are written for look-ups in indexes, which is all that SQLite does. PostgreSQL keeps the plan of a prepared
   * statement, and might choose to read whole tables while they are small or have no statistics yet. To compile a plan (JIT) takes up to a
   * second, and running it a few milliseconds.
   */
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_seqscan: 'off',
  jit: 'off',
};

/** The settings of a session that a transaction no longer uses once it has begun. */
const OF_SESSIONS: Readonly<Record<string, string>> = {
  client_encoding: 'UTF8',
  default_transaction_deferrable: 'off',
  default_transaction_isolation: 'read committed',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
};

/** Newer servers have further limits. */
const SINCE_17: Readonly<Record<string, string>> = { transaction_timeout: '0' };

type SettingsOptions = {
  /** The version of the server, such as 150012. */
  readonly version: number;
  /** The schema of the tables as an identifier, such as `public` or `"My App"`; null if there is none yet. */
  readonly schema: string | null;
};

/** Statements that give a session its settings. Behind a pooler it would hand them to other clients. */
export function sessionSettings(options: SettingsOptions): string {
  return written('SET', { ...settingsOf(options), ...OF_SESSIONS }, options.schema);
}

/** Statements that give the settings to one transaction, which has begun. */
export function transactionSettings(options: SettingsOptions): string {
  return written('SET LOCAL', settingsOf(options), options.schema);
}

/** Whether every session gets a value of its own of this setting. */
export function isSetBySallyport(name: string): boolean {
  const names = Object.keys({ ...SETTINGS, ...OF_SESSIONS, ...SINCE_17 });
  return names.some((one) => one.toLowerCase() === name.toLowerCase());
}

function settingsOf({ version }: SettingsOptions): Readonly<Record<string, string>> {
  return version >= 170_000 ? { ...SETTINGS, ...SINCE_17 } : SETTINGS;
}

function written(set: string, settings: Readonly<Record<string, string>>, schema: string | null): string {
  const all = Object.entries(settings).map(([name, value]) => `${set} ${name} = '${value}'`);
  // All sessions use the schema of the first one, even if the role's search_path changes later.
  return [...all, ...(schema === null ? [] : [`${set} search_path = ${schema}`])].join('; ');
}
