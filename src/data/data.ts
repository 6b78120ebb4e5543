/** The open data of a process, whichever database keeps it. */
import { join } from 'node:path';
import { type Config, settingPrefix } from '../config/config.ts';
import type { Clock, Ids, Random } from '../kernel/ids.ts';
import type { Vault } from '../kernel/vault.ts';
import type { Database, DatabaseSource } from '../store/port/database.ts';
import type { DatabaseUnavailable } from '../store/port/errors.ts';
import type { FirstCredentialStore } from '../store/port/settings.ts';
import type { Store } from '../store/port/store.ts';
import type { Downloads } from './download.ts';

export type Data = {
  readonly dataDir: string;
  readonly db: Database;
  readonly storage: Storage;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly firstCredentials: FirstCredentialStore;
  /** Nobody has seen the first credentials yet: the data is new, or the first start was interrupted. */
  readonly firstStart: boolean;
  close(): Promise<void>;
};

/** Adds to the opened data whether the first start is still to be finished. */
export async function withFirstStart<Opened extends Omit<Data, 'firstStart'>>(
  opened: Opened,
): Promise<Opened & Pick<Data, 'firstStart'>> {
  const { store, firstCredentials } = opened;
  return { ...opened, firstStart: (await store.users.isEmpty()) || (await firstCredentials.get()) !== null };
}

/** The differences between the databases. Pages and commands ask for what they need from here, never for the kind of database. */
export type Storage = {
  /** Where a thread opens the database for itself. */
  readonly source: DatabaseSource;
  /** Describes the database for people. */
  facts(): Promise<StorageFacts>;
  /** Null if the database server makes the backups. */
  readonly downloads: Downloads | null;
  /** The files that must stay in their places; null if the database server has them. */
  readonly files: StorageFiles | null;
  /** Whether one server uses the data at a time. It announces its settings to the commands beside it. */
  readonly hasOneServer: boolean;
  /** Hints between the instances; null if there is one process. */
  readonly signals: Signals | null;
  /** Returns an error that names the damage if damaged data may have caused `error`, and `error` otherwise. */
  explained(error: unknown): unknown;
};

export type StorageFacts = {
  readonly product: string;
  readonly version: string;
  readonly schemaVersion: number;
  /** The host and name of the database; null if it is in the data folder. Never contains a password. */
  readonly location: string | null;
  readonly bytes: number;
  /** Null if the database server has the write-ahead log. */
  readonly logBytes: number | null;
};

/** Tells other instances that there may be work. It can be lost, so they look at intervals too. */
export type Signals = {
  work(): void;
  /** Calls back when another process, or this one, sends the message. */
  onWork(listener: () => void): void;
};

type StorageFiles = {
  /** The problem if the files are no longer where they were opened; null if they are. */
  problem(): DatabaseUnavailable | null;
  /** Saves the acknowledged writes if only the log is missing. Resolves to true if it saved them. */
  saveLog(): Promise<boolean>;
};

/** The credentials that a first start shows once. */
export type FirstCredentials = {
  readonly dataDir: string;
  readonly adminUserName: string;
  readonly adminPassword: string;
  readonly clientId: string;
  readonly clientSecret: string;
};

/** The data cannot be used. The message says why and what to do. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

export function masterKeyPath({ dataDir, masterKeyFile }: Pick<Config, 'dataDir' | 'masterKeyFile'>): string {
  return masterKeyFile ?? join(dataDir, 'master.key');
}

/** The beginning of a message about the master key: names the setting if one gives the key's path. */
export function masterKeyPrefix(config: Config): string {
  return config.masterKeyFile === null ? '' : settingPrefix(config, 'masterKeyFile');
}
