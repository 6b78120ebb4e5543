/** Who may come in: users, products, applications, tokens, sessions and passkeys. */

import type { AccessToken, Application, Client, ScopeHolder, TokenGrant } from '../../domain/application.ts';
import type { AuditEntry } from '../../domain/audit.ts';
import type { ApiProduct } from '../../domain/catalogue.ts';
import type { Invitation, LostAdministration, Passkey, Session, SignedIn, User } from '../../domain/user.ts';
import type { Answer, Statement } from './database.ts';
import type { FailureStore } from './failures.ts';
import type { KeptReplyStore } from './kept-replies.ts';
import type { ResourceStore } from './resource.ts';
import type { ShortLivedStore } from './short-lived.ts';
import type { StepResult } from './steps.ts';

/** Portal accounts (`user_account`). */
export type UserStore = ResourceStore<User> & {
  /** Whether another active administrator remains when this one loses `lost`. */
  hasOtherAdministrator(id: string, lost: LostAdministration): Promise<boolean>;
  /** A user of a customer, or of the operator with null. Compares without regard to case or Unicode form. */
  getByName(customerId: string | null, userName: string): Promise<User | null>;
  isEmpty(): Promise<boolean>;
};

export type PasswordChange = { readonly before: User; readonly passwordHash: string; readonly updatedAt: number };

/** One-time links with which users set their passwords (`invitation`). */
export type InvitationStore = {
  /** Replaces the user's earlier invitation. Throws `StaleWrite` if the user has changed since it was read or is inactive. */
  put(invitation: Invitation, user: User, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  /** When the unused invitations of a page of users expire, or did, by the ids of the users. Users without one are missing. */
  expiries(userIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** The user of a valid invitation, or null. */
  find(tokenHash: Uint8Array, now: number): Promise<User | null>;
  /**
   * Whose user this is the newest invitation of, also after its use or its end: a customer's id, or null for the operator's user. Undefined
   * for any other token.
   */
  ownerOf(tokenHash: Uint8Array): Promise<string | null | undefined>;
  /**
   * Consumes the invitation, writes the password and ends the user's sessions. Throws `StaleWrite` if the invitation was used or the
   * user changed since `before` was read.
   */
  use(
    invitation: { readonly tokenHash: Uint8Array; readonly now: number },
    change: PasswordChange,
    audit: AuditEntry,
  ): Promise<void>;
};

/** Portal sessions (`session`). */
export type SessionStore = {
  /** Starts a session and deletes some expired ones. Throws `StaleWrite` if the user has changed since `user` was read. */
  begin(session: Session & { readonly userId: string }, user: User, audit: AuditEntry): Promise<void>;
  /** The valid session with this token, or null. */
  find(tokenHash: Uint8Array, now: number): Promise<SignedIn | null>;
  /** A user's valid sessions, most recently used first. */
  ofUser(userId: string, now: number): Promise<Session[]>;
  /** Cached sessions stay valid until they expire while this number is unchanged. Read it before `find`. */
  version(): Answer<number>;
  /** Calls `onEnded` whenever a session may have ended. Returns a function that unsubscribes. */
  subscribe(onEnded: () => void): () => void;
  /** Records that the session was used. */
  touch(id: string, seenAt: number): Promise<void>;
  /** `userId` null: a session that began with a link. */
  end(session: Pick<Session, 'id' | 'userId'>, audit: AuditEntry): Promise<void>;
  /** Ends all of a user's sessions except `keep`. */
  endAll(userId: string, keep: string | null, audit: AuditEntry): Promise<void>;
  /** Writes a new password and ends every session except `keep`. Throws `StaleWrite` if the user has changed since `before` was read. */
  setPassword(change: PasswordChange & { readonly keep: string }, audit: AuditEntry): Promise<void>;
};

/** Passkeys of portal accounts (`passkey`). */
export type PasskeyStore = {
  /** Throws `StaleWrite` if the user has `PASSKEYS_PER_USER_MAX` of them. */
  add(passkey: Passkey, audit: AuditEntry): Promise<void>;
  find(credentialId: Uint8Array): Promise<Passkey | null>;
  ofUser(userId: string): Promise<Passkey[]>;
  /** Records a signature. Throws `StaleWrite` if another one was recorded since `before` was read. */
  use(before: Passkey, counter: number, usedAt: number): Promise<void>;
  /** Throws `StaleWrite` if the passkey no longer exists. */
  remove(passkey: Pick<Passkey, 'id' | 'userId'>, audit: AuditEntry): Promise<void>;
};

/** API products: the catalogue that the gate reads (`product`). */
export type ProductStore = ResourceStore<ApiProduct> & {
  all(): Promise<ApiProduct[]>;
  /** Changes with every change of the catalogue, by any process. */
  version(): Promise<string>;
  /**
   * For `first` of a product that was checked against all others at this version. At any other version the write throws `StaleWrite`, so
   * two concurrent writes cannot claim the same paths or scopes.
   */
  atVersion(version: string): Statement;
  /** Replaces the built-in products with those of this release. */
  replaceBuiltIn(products: readonly ApiProduct[]): Promise<void>;
};

/** Registered applications (`application`). */
export type ApplicationStore = ResourceStore<Application> & {
  getClient(clientId: string): Promise<Client | null>;
  /** The first few applications of a user. An error names them when the user cannot be deleted. */
  ofUser(userId: string): Promise<Application[]>;
  /** The first few applications that have any of these scopes. */
  holding(scopes: readonly string[]): Promise<Application[]>;
  /** One page of the applications that have a scope: up to `limit` with an id greater than `after`. */
  holders(
    needed: { readonly scope: string; readonly permission: string },
    after: string,
    limit: number,
  ): Promise<ScopeHolder[]>;
  /** The same of the applications that lack the scope. */
  others: ApplicationStore['holders'];
};

/** When applications were last used (`application_use`): recorded in memory, written in batches. */
export type ApplicationUseStore = {
  /** Records in memory that an application got a token or made a call. `lastUsedAt` shows it immediately. */
  note(applicationId: string, at: number): void;
  /** The latest use that is not written yet, or null. */
  latest(applicationId: string): number | null;
  /** The number of applications with an unwritten use. */
  unwritten(): number;
  /** Writes the uses of up to `limit` applications. If the write fails, they stay in memory. */
  write(limit: number): Promise<StepResult>;
};

export type TokensInForce = {
  readonly count: number;
  readonly newestAt: number | null;
  /** Whether all tokens were examined. */
  readonly isWhole: boolean;
};

/** Issued access tokens (`access_token`), with everything that the gate needs in one look-up. */
export type TokenStore = {
  /**
   * Throws `StaleWrite` if the application or its user was deactivated, or its tokens were revoked, since `tokensRevokedThrough` was
   * read, or if another process took the token's key. The key must be greater than `tokensRevokedThrough`; otherwise the gate treats it as
   * revoked.
   */
  issue(token: AccessToken & Pick<TokenGrant, 'tokensRevokedThrough'>): Promise<void>;
  find(key: number): Promise<TokenGrant | null>;
  /** Cached results of `find` stay valid until the token expires while this number is unchanged. Read it before `find`. */
  version(): Answer<number>;
  /** The valid tokens of an application among the newest `limit` tokens of all. */
  inForce(
    application: { readonly id: string; readonly tokensRevokedThrough: number },
    now: number,
    limit: number,
  ): Promise<TokensInForce>;
  /** Deletes one token of an application. Not an error if it does not exist. */
  revoke(key: number, applicationId: string): Promise<void>;
};

export type AccessVerbs = {
  readonly users: UserStore;
  readonly invitations: InvitationStore;
  readonly sessions: SessionStore;
  readonly passkeys: PasskeyStore;
  readonly products: ProductStore;
  readonly applications: ApplicationStore;
  readonly applicationUses: ApplicationUseStore;
  readonly tokens: TokenStore;
  readonly failures: FailureStore;
  readonly shortLived: ShortLivedStore;
  readonly keptReplies: KeptReplyStore;
};
