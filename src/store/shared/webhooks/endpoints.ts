/** Endpoints of customers (`endpoint`). */

import type { Endpoint, Verification } from '../../../domain/endpoint.ts';
import {
  authenticationJson,
  authenticationOfJson,
  requestHeadersJson,
  requestHeadersOfJson,
} from '../../../domain/endpoint-headers.ts';
import type { Vault } from '../../../kernel/vault.ts';
import type { Database } from '../../port/database.ts';
import type { EndpointPublicKeys, EndpointStore } from '../../port/webhooks.ts';
import { auditStatement } from '../audit.ts';
import { limitStatements } from '../customer-limits.ts';
import { type ListColumns, resourceStore } from '../resource.ts';
import {
  customer,
  flag,
  json,
  number,
  numberOrNull,
  oneOf,
  readRow,
  requireActive,
  sealed,
  sealedAs,
  sealedOrNull,
  type Table,
  table,
  text,
  textOrNull,
  unchanged,
} from '../table.ts';
import { type ChangedSettings, changedSettingsStatements, resumeMoved } from './changed-settings.ts';
import { stateStatements, VERSION_AT_ENDPOINT } from './webhooks.ts';

export function endpointTable(vault: Vault): Table<Endpoint> {
  const authentication = sealedAs(vault, authenticationJson, authenticationOfJson);
  return table<Endpoint>('endpoint', 'id', {
    id: text,
    customerId: customer,
    name: text,
    url: text,
    apiKey: sealed(vault),
    secret: sealed(vault),
    secretCreatedAt: number,
    nextSecret: sealedOrNull(vault),
    nextSecretCreatedAt: numberOrNull,
    nextSecretAt: numberOrNull,
    signatureType: oneOf<Endpoint['signatureType']>(),
    signingKey: sealedOrNull(vault),
    publicKey: textOrNull,
    nextSigningKey: sealedOrNull(vault),
    nextPublicKey: textOrNull,
    secretOverlapEndsAt: numberOrNull,
    nextApiKey: sealedOrNull(vault),
    nextApiKeyAt: numberOrNull,
    sendApiKey: flag,
    authentication,
    nextAuthentication: authentication,
    nextAuthenticationAt: numberOrNull,
    requestHeaders: sealedAs(vault, requestHeadersJson, requestHeadersOfJson),
    contentEncoding: oneOf<'gzip' | null>(),
    tokenChallenge: flag,
    verification: oneOf<'cloudevents' | null>(),
    allowedRequestsPerMinute: numberOrNull,
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

// There are thousands of endpoints at most, so filters and sorts scan them.
const LIST: ListColumns = {
  filters: {
    customerId: 'customer_id = @customerId',
    name: 'name = @name',
    url: 'url = @url',
    enabled: "enabled = (@enabled = 'true')",
  },
  sorts: { name: 'lower(name)' },
};

const PUBLIC_KEYS = `
  SELECT public_key, next_public_key, next_secret_at, secret_overlap_ends_at FROM endpoint WHERE signature_type = 'ed25519'`;

const SAME_WEBHOOKS = `
  SELECT 1 FROM (${VERSION_AT_ENDPOINT.replace('@endpointId', '@id')}) AS now WHERE now.version = @webhooks`;

export function endpointStore(db: Database, vault: Vault): EndpointStore {
  const { updateStatements, ...store } = resourceStore(db, 'endpoint', endpointTable(vault), {
    beforeInsert: ({ customerId }) => limitStatements('endpoint', customerId),
    onUpdate: (endpoint, before) => changesOf(endpoint, before).flatMap(changedSettingsStatements),
    list: LIST,
  });
  return {
    ...store,
    unchanged: (endpoint) => unchanged('endpoint', endpoint),
    publicKeys: async () => (await db.all(PUBLIC_KEYS, {})).map((row) => readRow<EndpointPublicKeys>(row)),
    update: async (endpoint, before, audit, first = [], starts = [], webhooks = undefined) => {
      const changes = starts.map(({ change }) => change);
      await db.commit([
        ...first,
        ...updateStatements(endpoint, before, audit),
        ...(starts.length === 0 ? [] : requireActive(endpoint.customerId)),
        ...(webhooks === undefined
          ? []
          : [{ sql: SAME_WEBHOOKS, params: { id: endpoint.id, webhooks }, expectChanges: 1 }]),
        ...(await stateStatements(db, changes)),
        ...starts.map((start) => auditStatement(start.audit)),
      ]);
      for (const change of changesOf(endpoint, before)) await resumeMoved(db, change);
    },
  };
}

/** The changes that immediately affect the endpoint's webhooks: it was disabled, which stops them, or has another URL. */
function changesOf({ id, url, enabled, updatedAt: at }: Endpoint, before: Endpoint): ChangedSettings[] {
  const isMoved = url !== before.url;
  return isMoved || !enabled ? [{ of: 'endpoint', id, at, isMoved }] : [];
}
