/** Customers' endpoints (`endpoint`). */

import type { Secret } from '../../../kernel/secret.ts';
import type { Vault } from '../../../kernel/vault.ts';
import type { AuditEntry } from '../../../resources/audit.ts';
import { auditStatement } from '../audit.ts';
import type { Database, Statement } from '../driver/database.ts';
import {
  flag,
  json,
  number,
  numberOrNull,
  oneOf,
  sealed,
  sealedOrNull,
  type Table,
  table,
  text,
  textOrNull,
} from '../driver/table.ts';
import { type ResourceStore, resourceStore } from '../resource.ts';
import { afterChangedSettings, type ChangedSettings, changedSettingsStatement } from './changed-settings.ts';
import { type StateChange, stateStatements } from './webhooks.ts';

/** What the last ownership challenge brought (wire.md §5). */
export type Verification = {
  readonly at: number;
  readonly verified: boolean;
  readonly responseStatus: number | null;
  readonly responseBody: string | null;
  readonly error: string | null;
  /** The token that was sent, the answer to it that was wanted, and the one that came; what was kept by earlier versions lacks it. */
  readonly exchange?: { readonly token: string; readonly wanted: string; readonly came: string | null };
};

export type Endpoint = {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly apiKey: Secret;
  readonly secret: Secret;
  /** Signs in place of `secret` from `nextSecretAt` on. */
  readonly nextSecret: Secret | null;
  readonly nextSecretAt: number | null;
  /** Until then, and from the rotation on, `webhook-signature` has the signatures of both. */
  readonly secretOverlapEndsAt: number | null;
  /** Is sent in place of `apiKey` from `nextApiKeyAt` on. */
  readonly nextApiKey: Secret | null;
  readonly nextApiKeyAt: number | null;
  readonly contentEncoding: 'gzip' | null;
  readonly tokenChallenge: boolean;
  readonly verified: boolean;
  readonly enabled: boolean;
  /** Nobody asked for it to be off: it is switched on when its challenge succeeds. */
  readonly enableWhenVerified: boolean;
  readonly oauthClientId: string | null;
  readonly oauthClientSecret: Secret | null;
  readonly oauthTokenUrl: string | null;
  readonly oauthTokenExpirationMinutes: number | null;
  readonly oauthScopes: string | null;
  readonly clientCertificate: string | null;
  readonly clientPrivateKey: Secret | null;
  readonly clientCertificateExpiresAt: number | null;
  /** The last warning given before expiry: 30, 7 or 1 days. */
  readonly clientCertificateWarnedDays: number | null;
  readonly lastVerification: Verification | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

export function endpointTable(vault: Vault): Table<Endpoint> {
  return table<Endpoint>('endpoint', 'id', {
    id: text,
    name: text,
    url: text,
    apiKey: sealed(vault),
    secret: sealed(vault),
    nextSecret: sealedOrNull(vault),
    nextSecretAt: numberOrNull,
    secretOverlapEndsAt: numberOrNull,
    nextApiKey: sealedOrNull(vault),
    nextApiKeyAt: numberOrNull,
    contentEncoding: oneOf<'gzip' | null>(),
    tokenChallenge: flag,
    verified: flag,
    enabled: flag,
    enableWhenVerified: flag,
    oauthClientId: textOrNull,
    oauthClientSecret: sealedOrNull(vault),
    oauthTokenUrl: textOrNull,
    oauthTokenExpirationMinutes: numberOrNull,
    oauthScopes: textOrNull,
    clientCertificate: textOrNull,
    clientPrivateKey: sealedOrNull(vault),
    clientCertificateExpiresAt: numberOrNull,
    clientCertificateWarnedDays: numberOrNull,
    lastVerification: json<Verification | null>(),
    createdAt: number,
    updatedAt: number,
  });
}

/** A webhook that starts with a change of its endpoint, and what the audit log says of it. */
export type WebhookStart = { readonly change: StateChange; readonly audit: AuditEntry };

export type EndpointStore = Omit<ResourceStore<Endpoint>, 'update'> & {
  /**
   * Writes the row, and with it the starts of its webhooks, if all of them are still as they were read; throws `StaleWrite` otherwise.
   */
  update(
    endpoint: Endpoint,
    before: Endpoint,
    audit: AuditEntry,
    first?: readonly Statement[],
    starts?: readonly WebhookStart[],
  ): Promise<void>;
};

// Endpoints are thousands at most: a filter goes through them.
const FILTERS = { name: 'name = @name', url: 'url = @url', enabled: "enabled = (@enabled = 'true')" };

export function endpointStore(db: Database, vault: Vault): EndpointStore {
  const { updateStatements, ...store } = resourceStore(db, 'endpoint', endpointTable(vault), {
    onUpdate: (endpoint, before) => changesOf(endpoint, before).map(changedSettingsStatement),
    filters: FILTERS,
  });
  return {
    ...store,
    update: async (endpoint, before, audit, first = [], starts = []) => {
      await db.commit([
        ...first,
        ...updateStatements(endpoint, before, audit),
        ...starts.flatMap((start) => [...stateStatements(start.change), auditStatement(start.audit)]),
      ]);
      for (const change of changesOf(endpoint, before)) await afterChangedSettings(db, change);
    },
  };
}

/** What of a change its webhooks have to know of at once: that it is off, which stops them, and that it is elsewhere. */
function changesOf({ id, url, enabled, updatedAt: at }: Endpoint, before: Endpoint): ChangedSettings[] {
  const isMoved = url !== before.url;
  return isMoved || !enabled ? [{ of: 'endpoint', id, at, isMoved }] : [];
}

/** The secret that signs at `now`: the rotated one once its time has come. */
export function signingSecret({ secret, nextSecret, nextSecretAt }: Endpoint, now: number): Secret {
  return effective(secret, nextSecret, nextSecretAt, now);
}

/** The secrets whose signatures Standard Webhooks' receivers get at `now`: the active one first, then the other one of a rotation. */
export function standardWebhookSecrets(endpoint: Endpoint, now: number): readonly [Secret, ...Secret[]] {
  const { secret, nextSecret, secretOverlapEndsAt } = endpoint;
  const active = signingSecret(endpoint, now);
  if (nextSecret === null || secretOverlapEndsAt === null || secretOverlapEndsAt <= now) return [active];
  return [active, active === nextSecret ? secret : nextSecret];
}

/** The API key that is sent at `now`. */
export function currentApiKey({ apiKey, nextApiKey, nextApiKeyAt }: Endpoint, now: number): Secret {
  return effective(apiKey, nextApiKey, nextApiKeyAt, now);
}

function effective(current: Secret, next: Secret | null, nextAt: number | null, now: number): Secret {
  return next !== null && nextAt !== null && nextAt <= now ? next : current;
}
