/** Facts about this database itself, and the look of the customers' portal (`setting`). */

import type { AuditEntry } from '../../domain/audit.ts';
import type { PortalTheme } from '../../domain/portal-theme.ts';

export type SettingStore = {
  /** Writes and syncs a small row. Rejects if the database cannot be written. */
  proveWritable(now: number): Promise<void>;
  /**
   * A new database stores a word sealed with the master key; later calls check the key against it. Throws if the key is a different one:
   * that key could not read existing secrets, and the right key could not read new ones.
   */
  checkMasterKey(): Promise<void>;
  /** The look of the customers' portal; null: none was chosen. */
  portalTheme(): Promise<PortalTheme | null>;
  /** Replaces `before`; null: nobody has chosen one. Rejects with `StaleWrite` if the look is another one. */
  putPortalTheme(theme: PortalTheme, before: PortalTheme | null, audit: AuditEntry): Promise<void>;
  /** Whether the master key is the one that the database was made with. */
  knowsMasterKey(): Promise<boolean>;
};

/** The credentials of the first start. They are stored before anything is created with them. */
export type PendingCredentials = {
  readonly adminPassword: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether their user and application exist. */
  readonly made: boolean;
};

/** The credentials of the first start, sealed until they have been shown. */
export type FirstCredentialStore = {
  get(): Promise<PendingCredentials | null>;
  /**
   * Stores the credentials unless there are some or there is a user. Returns the stored ones, which another process may have drawn at the
   * same time; null after the first start.
   */
  begin(credentials: PendingCredentials): Promise<PendingCredentials | null>;
  /** Records that their user and application exist. */
  done(credentials: PendingCredentials): Promise<void>;
  forget(): Promise<void>;
};
