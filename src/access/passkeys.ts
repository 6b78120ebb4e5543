/**
 * Passkeys (WebAuthn Level 3): signing in with a key that stays on the user's device. A passkey replaces the password, so user
 * verification is required.
 */
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { type Actor, type AuditAction, type AuditEntry, auditEntry } from '../domain/audit.ts';
import { PASSKEYS_PER_USER_MAX, type Passkey, type User } from '../domain/user.ts';
import type { Clock, Ids, Random } from '../kernel/ids.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { isObject } from '../kernel/validation.ts';
import type { Vault } from '../kernel/vault.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import { ConstraintViolation, retryStale, StaleWrite } from '../store/port/errors.ts';
import type { Store } from '../store/port/store.ts';
import { type Challenges, createChallenges } from './passkey-challenges.ts';

/** Answered passkey challenges that are remembered until they end, some hundred bytes each; the oldest go first. */
const CHALLENGES_MAX = 10_000;
const PASSKEY_NAME_MAX_LENGTH = 60;

/** `origin` is the browser's, checked to be the portal's. `visitor` is the secret that its forms are bound to. */
type Place = { readonly origin: string; readonly visitor: string };

export type Passkeys = {
  /** Whether passkeys work at this address. They need a host name, not an IP address. */
  isPossible(origin: string): boolean;
  /**
   * The options for the browser to create a passkey. Its owner recognizes it by `name`, and devices say that it is for `portal`.
   * Throws 400 for an invalid name and for too many passkeys.
   */
  beginRegistration(
    user: Pick<User, 'id' | 'userName' | 'displayName'>,
    place: Place & { readonly portal: string },
    name: string,
  ): Promise<PublicKeyCredentialCreationOptionsJSON>;
  /** Adds a passkey from the browser's JSON `response`. Throws 400: naming `name`, or no field if the response is invalid. */
  register(userId: string, place: Place, name: string, response: string): Promise<void>;
  /** The options for the browser to sign in. */
  beginSignIn(place: Place): Promise<PublicKeyCredentialRequestOptionsJSON>;
  /**
   * The owner of the passkey that signed the response, or null if the response is invalid. Does not check whether the user may sign in. A
   * valid signature whose counter has not increased comes from a copy (WebAuthn Level 3 §6.1.1): it is refused, and the audit log
   * records the address it came from.
   */
  verify(place: Place & { readonly address: string }, response: string): Promise<User | null>;
  ofUser(userId: string): Promise<Passkey[]>;
  /** Removes one of the user's passkeys. Throws 404. */
  remove(userId: string, passkeyId: string): Promise<void>;
};

type Dependencies = {
  readonly store: AccessVerbs & Pick<Store, 'audit'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly vault: Pick<Vault, 'authenticate'>;
};

export function createPasskeys({ store, clock, ids, random, vault }: Dependencies): Passkeys {
  const answered = store.shortLived.values('passkey challenge', CHALLENGES_MAX);
  const challenges = createChallenges({ random, vault, answered });
  const entry = async (
    action: AuditAction,
    userId: string,
    at: number,
    changes: AuditEntry['changes'],
  ): Promise<AuditEntry> => {
    const actor: Actor = `user:${userId}`;
    const customerId = (await store.users.get(userId))?.customerId ?? null;
    return auditEntry(ids, actor, action, actor, { at, customerId, changes });
  };

  const context = { store, clock, ids, challenges, entry };
  return {
    isPossible: (origin) => hostOf(origin) !== null,
    ofUser: (userId) => store.passkeys.ofUser(userId),
    ...registration(context),
    ...signIn(context),
    remove: (userId, passkeyId) =>
      // Of two concurrent removals the second finds none.
      retryStale(async () => {
        const passkey = (await store.passkeys.ofUser(userId)).find(({ id }) => id === passkeyId);
        if (passkey === undefined) throw new Refusal('not_found', 'there is no such passkey');
        const changes = { passkey: { from: { id: passkey.id, name: passkey.name }, to: null } };
        await store.passkeys.remove(passkey, await entry('user.remove-passkey', userId, clock(), changes));
      }),
  };
}

type Context = Pick<Dependencies, 'store' | 'clock' | 'ids'> & {
  readonly challenges: Challenges;
  /** An audit entry for a change by users to their own account. */
  entry(action: AuditAction, userId: string, at: number, changes: AuditEntry['changes']): Promise<AuditEntry>;
};

function registration({
  store,
  clock,
  ids,
  challenges,
  entry,
}: Context): Pick<Passkeys, 'beginRegistration' | 'register'> {
  return {
    beginRegistration: async ({ id, userName, displayName }, { origin, visitor, portal }, name) => {
      readName(name);
      const existing = await store.passkeys.ofUser(id);
      if (existing.length >= PASSKEYS_PER_USER_MAX) {
        throw new Refusal('invalid_request', TOO_MANY);
      }
      const { generateRegistrationOptions } = await import('@simplewebauthn/server');
      return generateRegistrationOptions({
        rpName: portal,
        rpID: requireHost(origin),
        userName,
        userDisplayName: displayName ?? userName,
        userID: Uint8Array.from(Buffer.from(id)),
        challenge: challenges.make(visitor, clock()),
        attestationType: 'none',
        supportedAlgorithmIDs: ALGORITHMS,
        excludeCredentials: existing.map(({ credentialId }) => ({ id: base64url(credentialId) })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
    },
    register: async (userId, { origin, visitor }, name, response) => {
      const label = readName(name);
      const host = requireHost(origin);
      const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
      const challenge = challenges.expect(visitor, clock());
      const verified = await verifyRegistrationResponse({
        response: readJson(response) as RegistrationResponseJSON,
        expectedOrigin: origin,
        expectedRPID: host,
        requireUserVerification: true,
        expectedChallenge: challenge.accepts,
        supportedAlgorithmIDs: ALGORITHMS,
      }).catch(() => null);
      if (verified?.verified !== true || !(await challenge.isFirstAnswer()))
        throw new Refusal('invalid_request', 'the passkey could not be checked: try again');
      const { credential } = verified.registrationInfo;
      const now = clock();
      const passkey: Passkey = {
        id: ids.uuid(),
        userId,
        credentialId: Buffer.from(credential.id, 'base64url'),
        publicKey: credential.publicKey,
        host,
        name: label,
        counter: credential.counter,
        createdAt: now,
        usedAt: null,
      };
      const audit = await entry('user.add-passkey', userId, now, {
        passkey: { from: null, to: { id: passkey.id, name: label } },
      });
      await refusingUnfit(store.passkeys.add(passkey, audit));
    },
  };
}

function signIn({ store, clock, challenges, entry }: Context): Pick<Passkeys, 'beginSignIn' | 'verify'> {
  const refuseCopy = async ({ id, userId, name, counter }: Passkey, sent: number, address: string): Promise<null> => {
    const changes = {
      passkey: { from: { id, name, counter }, to: { id, name, counter: sent } },
      address: { from: null, to: address },
    };
    await store.audit.append(await entry('user.refuse-passkey', userId, clock(), changes));
    return null;
  };

  return {
    beginSignIn: async ({ origin, visitor }) => {
      const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
      return generateAuthenticationOptions({
        rpID: requireHost(origin),
        challenge: challenges.make(visitor, clock()),
        userVerification: 'required',
      });
    },
    verify: async ({ origin, visitor, address }, response) => {
      const answer = readJson(response) as AuthenticationResponseJSON;
      const credentialId =
        isObject(answer) && typeof answer.id === 'string' ? Buffer.from(answer.id, 'base64url') : null;
      const passkey = credentialId === null ? null : await store.passkeys.find(credentialId);
      if (passkey === null) return null;
      const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
      const challenge = challenges.expect(visitor, clock());
      const verified = await verifyAuthenticationResponse({
        response: answer,
        expectedOrigin: origin,
        expectedRPID: passkey.host,
        requireUserVerification: true,
        expectedChallenge: challenge.accepts,
        credential: {
          id: base64url(passkey.credentialId),
          publicKey: Uint8Array.from(passkey.publicKey),
          // Compared below. The library compares it before it checks the signature, which would let anyone fill the audit log.
          counter: 0,
        },
      }).catch(() => null);
      if (verified?.verified !== true || !(await challenge.isFirstAnswer())) return null;
      const { newCounter } = verified.authenticationInfo;
      // Zero on both sides means that the authenticator does not count.
      if (newCounter <= passkey.counter && passkey.counter > 0) return refuseCopy(passkey, newCounter, address);
      try {
        await store.passkeys.use(passkey, newCounter, clock());
      } catch (error) {
        // Two concurrent responses with the same counter: the second may come from a copy.
        if (error instanceof StaleWrite) return refuseCopy(passkey, newCounter, address);
        throw error;
      }
      return store.users.get(passkey.userId);
    },
  };
}

/** EdDSA, ES256 and RS256 (RFC 9053). Every authenticator has at least one of them. */
const ALGORITHMS: number[] = [-8, -7, -257];

function readName(name: string): string {
  const label = name.trim();
  if (label === '' || label.length > PASSKEY_NAME_MAX_LENGTH || /\p{Cc}/u.test(label)) {
    throw refuseField('name', `must have 1 to ${PASSKEY_NAME_MAX_LENGTH} characters`);
  }
  return label;
}

/** The host name of an origin, which is the relying party's id. Null for an IP address, which cannot be one. */
function hostOf(origin: string): string | null {
  if (!URL.canParse(origin)) return null;
  const { hostname } = new URL(origin);
  return hostname.startsWith('[') || /^[\d.]+$/.test(hostname) ? null : hostname;
}

function requireHost(origin: string): string {
  const host = hostOf(origin);
  if (host === null)
    throw new Refusal('invalid_request', 'passkeys need a host name in the address, not an IP address');
  return host;
}

/** Text that is not JSON becomes an empty object, which is an invalid response too. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return {};
  }
}

const TOO_MANY = `an account has at most ${PASSKEYS_PER_USER_MAX} passkeys`;

async function refusingUnfit(write: Promise<void>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (error instanceof StaleWrite) throw new Refusal('invalid_request', TOO_MANY);
    if (!(error instanceof ConstraintViolation) || error.kind !== 'unique') throw error;
    throw new Refusal('conflict', 'this passkey is registered already');
  }
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
