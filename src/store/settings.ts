/** Facts about this database itself (`setting`). */
export type SettingStore = {
  /** Writes and syncs a small row: rejects when the database cannot be written. */
  proveWritable(now: number): Promise<void>;
  /**
   * On a new database remembers the master key by a sealed word; on any other checks the key against it.
   * Throws when the key is another one: nothing sealed could be read, and what were sealed anew could not be read later.
   */
  checkMasterKey(): Promise<void>;
  /** Whether this is the key that the database remembers. */
  knowsMasterKey(): Promise<boolean>;
};
