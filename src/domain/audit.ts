/** Entries of the audit log: who did what to which resource, and the changed fields with secrets masked. */
import type { Ids } from '../kernel/ids.ts';
import { isoInstant } from '../kernel/schemas.ts';
import type { Secret } from '../kernel/secret.ts';

/** Who acts: `application:<id>`, `user:<id>`, `portal-link:<id>`, `portal-token:<id>`, `command-line`, `embedding-program` or `service`. */
export type Actor = string;

/** The resources that are created, changed and deleted. */
export type AuditedResource =
  | 'customer'
  | 'user'
  | 'application'
  | 'product'
  | 'endpoint'
  | 'key'
  | 'event-type'
  | 'webhook';

/**
 * Every audited action, as `<resource>.<verb>`. The portal has a text for each, or does not compile. Entries of other versions may have
 * other actions.
 */
export type AuditAction =
  | `${AuditedResource}.${'create' | 'update' | 'delete'}`
  | `user.${'invite' | 'set-password' | 'add-passkey' | 'remove-passkey' | 'refuse-passkey'}`
  | `user.${'sign-in' | 'sign-out' | 'sign-out-everywhere'}`
  | `customer.${'create-link' | 'open-link' | 'create-token'}`
  | 'portal.update'
  | `application.${'regenerate-secret' | 'revoke-tokens'}`
  | `endpoint.${'verify' | 'rotate-secret' | 'rotate-api-key' | 'rotate-authentication'}`
  | `webhook.${'start' | 'stop' | 'replay' | 'give-up'}`
  | 'delivery.replay'
  | `event.${'erase' | 'erase-done'}`
  | 'backup.download'
  | 'database.move'
  | 'database.restore'
  | 'master-key.rotate';

/** The actions with which people come and go. They change nothing. */
export const COMING_AND_GOING: readonly AuditAction[] = [
  'user.sign-in',
  'user.sign-out',
  'user.sign-out-everywhere',
  'customer.create-link',
  'customer.open-link',
  'customer.create-token',
];

export type Change = { readonly from: unknown; readonly to: unknown };
export type Changes = Readonly<Record<string, Change>>;

export type AuditEntry = {
  readonly id: string;
  readonly at: number;
  readonly actor: Actor;
  readonly action: AuditAction;
  /** `<resource>:<id>`. */
  readonly target: string;
  /** The customer to whom the target belongs; null: the operator. */
  readonly customerId: string | null;
  readonly changes: Changes;
};

/** An entry with a new id. `customerId`: to whom the target belongs, by default the operator. */
export function auditEntry(
  ids: Pick<Ids, 'uuid'>,
  actor: Actor,
  action: AuditAction,
  target: string,
  more: Pick<AuditEntry, 'at'> & Partial<Pick<AuditEntry, 'customerId' | 'changes'>>,
): AuditEntry {
  return { id: ids.uuid(), actor, action, target, customerId: null, changes: {}, ...more };
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The changed fields as the API shows them: instants in ISO 8601, and the hash of a secret under the name of the secret. `before` is null
 * for a new record, `after` for a deleted one. `createdAt` and `updatedAt` are omitted.
 */
export function changesBetween(before: Fields | null, after: Fields | null): Changes {
  const changes: Record<string, Change> = {};
  for (const field of new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])) {
    if (field === 'createdAt' || field === 'updatedAt') continue;
    const from = before?.[field] ?? null;
    const to = after?.[field] ?? null;
    if (comparable(from) === comparable(to)) continue;
    changes[field.replace(HASH, '')] = { from: shown(field, from), to: shown(field, to) };
  }
  return changes;
}

const HASH = /Hash$/;
const INSTANT = /At$/;

/** Secrets and hashes of secrets show as `[secret]`. */
function shown(field: string, value: unknown): unknown {
  if (value !== null && HASH.test(field)) return '[secret]';
  return typeof value === 'number' && INSTANT.test(field) ? isoInstant(value) : value;
}

function comparable(value: unknown): string {
  if (isSecret(value)) return `secret ${value.reveal()}`;
  if (Array.isArray(value)) return JSON.stringify(value.map(comparable));
  if (value !== null && typeof value === 'object' && !(value instanceof Uint8Array)) {
    return JSON.stringify(Object.entries(value).map(([name, member]) => [name, comparable(member)]));
  }
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : JSON.stringify(value);
}

function isSecret(value: unknown): value is Secret {
  return value !== null && typeof value === 'object' && 'reveal' in value && typeof value.reveal === 'function';
}
