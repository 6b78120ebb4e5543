/** The credentials of the first start, sealed, from before anything is made with them until they were shown (`setting`). */
export type PendingCredentials = {
  readonly adminPassword: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The user and the application that they belong to exist. */
  readonly made: boolean;
};

export type FirstCredentialStore = {
  get(): Promise<PendingCredentials | null>;
  put(credentials: PendingCredentials): Promise<void>;
  forget(): Promise<void>;
};
