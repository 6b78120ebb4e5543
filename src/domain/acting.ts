/** Who makes a change and with which rights: every use case that changes something takes an `Acting`. */

import type { Actor } from './audit.ts';
import type { Constraints, Role } from './user.ts';

export type Acting = {
  /** The name that the audit log keeps. */
  readonly actor: Actor;
  readonly authority: Authority;
  /** The version that the change is based on: it is refused with 412 if the resource has none of these tags. */
  readonly ifMatch?: IfMatch | undefined;
};

/** `unlimited` is for the holders of the data folder and the master key: the command line, an embedding program and the service. */
type Authority = 'unlimited' | Held;

/** The rights of a caller: those of its user, and the scopes of its token. */
export type Held = {
  readonly through: 'token' | 'session';
  /** The customer whose resources it reaches; null: all. */
  readonly customerId: string | null;
  readonly userName: string;
  readonly role: Role;
  readonly permissions: readonly string[];
  readonly constraints: Constraints;
  /** The scopes of the token; empty for a session of the operator. */
  readonly scopes: readonly string[];
};

/** Changes that the service makes automatically. */
export const SERVICE: Acting = { actor: 'service', authority: 'unlimited' };
export const COMMAND_LINE: Acting = { actor: 'command-line', authority: 'unlimited' };
/** An embedding program that acts for its operator. */
export const EMBEDDING_PROGRAM: Acting = { actor: 'embedding-program', authority: 'unlimited' };

/** `If-Match` as sent: `*` or strong tags with their quotes. Weak tags are dropped because they never match. */
export type IfMatch = '*' | readonly string[];
