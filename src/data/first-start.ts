/**
 * Creates the first administrator and an application with every administration scope (contract §6.2).
 *
 * Their credentials are stored, sealed, before anything is created with them, and deleted once they were shown. So a process that dies
 * between two steps loses none, and the next start continues and shows the same ones.
 */
import { auditedApplication } from '../access/applications.ts';
import { ADMINISTRATION_SCOPES, BUILT_IN_SCOPES } from '../access/built-in.ts';
import { type Invitations, invitationUrl } from '../access/invitations.ts';
import { hashPassword, makePassword } from '../access/password.ts';
import { SERVICE } from '../domain/acting.ts';
import { type Application, TOKEN_VALIDITY_DEFAULT_SECONDS } from '../domain/application.ts';
import { type AuditEntry, type AuditedResource, auditEntry, changesBetween } from '../domain/audit.ts';
import { hashCredential, mintCredential } from '../domain/credential.ts';
import type { User } from '../domain/user.ts';
import type { Ids } from '../kernel/ids.ts';
import { ConstraintViolation } from '../store/port/errors.ts';
import type { PendingCredentials } from '../store/port/settings.ts';
import type { Data, FirstCredentials } from './data.ts';

const ADMIN_USER_NAME = 'admin';
const APPLICATION_NAME = 'administration';

type FirstStart = Pick<Data, 'dataDir' | 'store' | 'clock' | 'ids' | 'random' | 'firstCredentials'>;

/**
 * Creates the missing ones and returns the credentials, the same ones until `firstCredentials.forget()`; null once they were shown.
 * Processes that start at the same time create everything once and return the same credentials.
 */
export async function makeFirstCredentials(data: FirstStart): Promise<FirstCredentials | null> {
  const { firstCredentials, random } = data;
  const drawn = {
    adminPassword: makePassword(random),
    clientId: mintCredential('spc', random),
    clientSecret: mintCredential('sps', random),
    made: false,
  };
  const pending = (await firstCredentials.get()) ?? (await firstCredentials.begin(drawn));
  if (pending === null) return null;
  // Someone who has the credentials may have changed or deleted both: they must not come back.
  if (!pending.made) {
    await makeAdministrator(data, pending);
    await makeApplication(data, pending);
    await firstCredentials.done(pending);
  }
  const { adminPassword, clientId, clientSecret } = pending;
  return { dataDir: data.dataDir, adminUserName: ADMIN_USER_NAME, adminPassword, clientId, clientSecret };
}

type AdministratorAccess = Pick<Data, 'store'> & {
  readonly services: { readonly invitations: Pick<Invitations, 'invite'> };
  readonly firstCredentials: FirstCredentials | null;
};

/**
 * Creates the link that a first start prints: with it the administrator sets a password and signs in to the portal. It replaces an earlier
 * link, so an interrupted start leaves no second one. Null if this is no first start, or if the administrator was deleted or deactivated.
 */
export async function inviteFirstAdministrator(
  { store, services, firstCredentials }: AdministratorAccess,
  publicUrl: string,
): Promise<string | null> {
  if (firstCredentials === null) return null;
  const administrator = await store.users.getByName(null, firstCredentials.adminUserName);
  if (administrator?.active !== true) return null;
  const { token } = await services.invitations.invite(administrator.id, SERVICE);
  return invitationUrl(publicUrl, token);
}

async function makeAdministrator(
  { store, clock, ids, random }: FirstStart,
  pending: PendingCredentials,
): Promise<void> {
  if (!(await store.users.isEmpty())) return;
  const now = clock();
  const user: User = {
    id: ids.uuid(),
    customerId: null,
    userName: ADMIN_USER_NAME,
    displayName: 'Administrator',
    email: null,
    active: true,
    role: 'administrator',
    permissions: BUILT_IN_SCOPES.toSorted(),
    constraints: {},
    passwordHash: await hashPassword(pending.adminPassword, random),
    createdAt: now,
    updatedAt: now,
  };
  await unlessMade(store.users.insert(user, creation('user', user, ids, now)));
}

async function makeApplication({ store, clock, ids }: FirstStart, pending: PendingCredentials): Promise<void> {
  const administrator = await store.users.getByName(null, ADMIN_USER_NAME);
  if (administrator === null || (await store.applications.getClient(pending.clientId)) !== null) return;
  const now = clock();
  const application: Application = {
    id: ids.uuid(),
    customerId: null,
    name: APPLICATION_NAME,
    userId: administrator.id,
    clientId: pending.clientId,
    secretHash: hashCredential(pending.clientSecret),
    secretCreatedAt: now,
    previousSecretHash: null,
    previousSecretExpiresAt: null,
    accessTokenValiditySeconds: TOKEN_VALIDITY_DEFAULT_SECONDS,
    scopes: ADMINISTRATION_SCOPES.toSorted(),
    active: true,
    tokensRevokedThrough: 0,
    lastUsedAt: null,
    createdAt: now,
    updatedAt: now,
  };
  await unlessMade(
    store.applications.insert(application, creation('application', auditedApplication(application), ids, now)),
  );
}

/** Another process may insert the same record first. */
async function unlessMade(inserted: Promise<void>): Promise<void> {
  try {
    await inserted;
  } catch (error) {
    if (!(error instanceof ConstraintViolation && error.kind === 'unique')) throw error;
  }
}

function creation(
  resource: AuditedResource,
  record: Readonly<Record<string, unknown>>,
  ids: Ids,
  at: number,
): AuditEntry {
  return auditEntry(ids, SERVICE.actor, `${resource}.create`, `${resource}:${record.id}`, {
    at,
    changes: changesBetween(null, record),
  });
}
