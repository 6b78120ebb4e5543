/** The schemas of an endpoint: input, view and rotation (contract §4.2). */

import { z } from 'zod';
import { SECRET_OVERLAP_MAX_SECONDS } from '../domain/application.ts';
import {
  currentApiKey,
  currentAuthentication,
  type Endpoint,
  publicKeys,
  SIGNATURE_TYPES,
  signingSecretCreatedAt,
  type Verification,
} from '../domain/endpoint.ts';
import { CERTIFICATE_BYTES, SHARED_SECRET_MAX_LENGTH, URL_MAX_LENGTH } from '../domain/limits.ts';
import {
  customerIdInput,
  customerIdView,
  displayName,
  id,
  instant,
  isoInstant,
  NO_BLANK_ENDS,
  NO_BLANK_ENDS_OR_CONTROLS,
  urlPattern,
  withoutBlankEnds,
  withoutControls,
} from '../kernel/schemas.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import { CUSTOMER_FILTER, choiceFilter, type ListRules, TRUE_OR_FALSE, textFilter } from '../resources/list-rules.ts';
import { PUBLIC_KEY_PREFIX } from '../wire/ed25519.ts';
import { givenSecret } from '../wire/signature.ts';
import {
  auditedAuthentication,
  auditedRequestHeaders,
  authenticationInput,
  authenticationView,
  requestHeadersInput,
  requestHeadersView,
  viewAuthentication,
  viewRequestHeaders,
} from './endpoint-authentication.ts';
import { OAUTH_TOKEN_EXPIRATION_MAX_MINUTES, SECRET_ACTIVATION_MAX_SECONDS } from './limits.ts';

const apiKey = z.string().regex(/^[0-9a-fA-F]{32}$/, 'must be 32 hexadecimal digits');
const sharedSecret = withoutBlankEnds(z.string().min(1).max(SHARED_SECRET_MAX_LENGTH))
  .refine((text) => givenSecret(text) !== null, 'must be strict Base64 after whsec_')
  .meta({ pattern: NO_BLANK_ENDS });
/** RFC 6749 Appendix A.2 and A.4. */
const visible = z.string().regex(/^[\x20-\x7e]{1,512}$/, 'must be 1 to 512 visible ASCII characters');

/** `refuseUnsafeUrl` decides. */
const httpsUrl = z
  .string()
  .min(1)
  .max(URL_MAX_LENGTH)
  .meta({
    description: '`https:`, without credentials or fragment.',
    pattern: urlPattern('[Hh][Tt][Tt][Pp][Ss]', '#\\\\'),
  });

const oauthInput = z.strictObject({
  // Basic ends the id at the first colon (RFC 7617 §2).
  clientId: visible
    .refine((text) => !text.includes(':'), 'must not hold a colon, which ends it in HTTP Basic')
    .meta({ pattern: '^[ -9;-~]{1,512}$' }),
  // Sent as UTF-8 (contract §5.6): some servers issue secrets that RFC 6749 does not allow.
  clientSecret: withoutBlankEnds(withoutControls(512)).meta({
    pattern: NO_BLANK_ENDS_OR_CONTROLS,
    minLength: 1,
    maxLength: 512,
  }),
  tokenUrl: httpsUrl,
  tokenExpirationMinutes: z.int().min(1).max(OAUTH_TOKEN_EXPIRATION_MAX_MINUTES).default(60),
  scopes: visible.nullable().default(null),
});

const endpointInput = z
  .strictObject({
    customerId: customerIdInput,
    name: displayName,
    url: httpsUrl,
    apiKey: apiKey.optional().meta({ description: 'Sent as `X-Api-Key`. Made if absent.' }),
    secret: sharedSecret
      .optional()
      .meta({ description: 'Base64 (after `whsec_` too), or text. Made if absent: Base64 of 32 random bytes.' }),
    contentEncoding: z.literal('gzip').nullable().default(null),
    tokenChallenge: z.boolean().default(false).meta({
      description: 'Must answer a challenge before it is enabled. Off by default; on is recommended.',
    }),
    verification: z.literal('cloudevents').nullable().default(null).meta({
      description:
        'In place of tokenChallenge: the OPTIONS handshake of CloudEvents, whose receivers allow an origin at a rate.',
    }),
    enabled: z.boolean().optional().meta({
      description:
        'At creation true if absent; with tokenChallenge or `verification`, `true` takes effect with the verification.',
      default: true,
    }),
    oauth: oauthInput
      .nullable()
      .default(null)
      .meta({ description: 'Requests carry a bearer token from this server in place of a signature.' }),
    signatureType: z.enum(SIGNATURE_TYPES).default('hmac').meta({
      description:
        'How `webhook-signature` of Standard Webhooks is made: with the secret (`v1`), or with an Ed25519 key pair (`v1a`).',
    }),
    sendApiKey: z.boolean().default(true).meta({ description: 'Whether requests have `X-Api-Key`. Default: true.' }),
    authentication: authenticationInput
      .nullable()
      .default(null)
      .meta({
        description:
          'What the receiver expects; null: the signature. `basic` and `bearer` replace the signature in ' +
          '`Authorization`, `header` sends one more header. Cannot be combined with `oauth`.',
      }),
    requestHeaders: requestHeadersInput
      .default([])
      .meta({ description: 'Sent with every request to the endpoint, not signed. Each name once.' }),
    clientCertificate: z
      .strictObject({ certificate: z.string().max(CERTIFICATE_BYTES), privateKey: z.string().max(CERTIFICATE_BYTES) })
      .nullable()
      .default(null)
      .meta({ description: 'For mutual TLS, both in PEM. The private key is never returned.' }),
  })
  .meta({ id: 'EndpointInput', description: 'Where deliveries go, and how they prove who sent them.' });
export const endpointPatch = endpointInput
  .omit({ secret: true })
  .meta({ id: 'EndpointPatch', description: endpointInput.description });
export type EndpointBody = BodyOf<typeof endpointInput>;
export type EndpointInput = z.output<typeof endpointInput>;

export const endpointView = z
  .object({
    id,
    customerId: customerIdView,
    name: z.string(),
    url: z.string(),
    apiKey: z.string(),
    contentEncoding: z.literal('gzip').nullable(),
    tokenChallenge: z.boolean(),
    verification: z.literal('cloudevents').nullable(),
    allowedRequestsPerMinute: z.int().nullable().meta({
      description: 'What the receiver allowed in the handshake of CloudEvents. All webhooks of the endpoint share it.',
    }),
    verified: z.boolean(),
    enabled: z.boolean(),
    oauth: z
      .object({
        clientId: z.string(),
        tokenUrl: z.string(),
        tokenExpirationMinutes: z.int(),
        scopes: z.string().nullable(),
      })
      .nullable(),
    signatureType: z.enum(SIGNATURE_TYPES),
    publicKey: z.string().nullable().meta({ description: 'Of `ed25519`: `whpk_` and Base64.' }),
    nextPublicKey: z
      .string()
      .nullable()
      .meta({ description: 'From a rotation to the end of its overlap: the other public key. Else null.' }),
    sendApiKey: z.boolean(),
    authentication: authenticationView.nullable(),
    authenticationActivatesAt: instant
      .nullable()
      .meta({ description: 'When the next authentication begins to be sent; null without one.' }),
    requestHeaders: requestHeadersView,
    clientCertificate: z.object({ certificate: z.string(), expiresAt: instant }).nullable(),
    secretCreatedAt: instant.meta({ description: 'When the current secret was made.' }),
    secretActivatesAt: instant
      .nullable()
      .meta({ description: 'When the next secret begins to sign; null without one.' }),
    secretOverlapEndsAt: instant.nullable().meta({
      description:
        'Until when `webhook-signature` has the signatures of both secrets of a rotation; null when it has one.',
    }),
    nextApiKey: z.string().nullable().meta({ description: 'The next API key after a rotation; null without one.' }),
    apiKeyActivatesAt: instant.nullable(),
    lastVerification: z
      .object({
        at: instant,
        verified: z.boolean(),
        responseStatus: z.int().nullable(),
        responseBody: z.string().nullable(),
        error: z.string().nullable(),
      })
      .nullable(),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Endpoint', description: 'Where deliveries go. Its secret is shown when it is made and never again.' });
export type EndpointView = z.infer<typeof endpointView>;
export const endpointReader = inputReader(endpointInput, endpointView, { secret: 'is changed by rotate-secret' });

export const ENDPOINT_LIST: ListRules = {
  name: 'endpoints',
  filters: {
    customerId: CUSTOMER_FILTER,
    name: textFilter('With this name.'),
    url: textFilter('With exactly this URL.'),
    enabled: choiceFilter(TRUE_OR_FALSE, 'Enabled, or not.'),
  },
  sorts: { name: 'text' },
};

export const endpointWithSecret = endpointView
  .extend({ secret: z.string().meta({ description: 'Shown only once.' }) })
  .meta({ id: 'EndpointWithSecret', description: 'An endpoint with the secret that was just made.' });

const activateAfterSeconds = z
  .int()
  .min(0)
  .max(SECRET_ACTIVATION_MAX_SECONDS)
  .default(0)
  .meta({ description: 'How long the old one is still used, so that the receiver can hold both in between.' });

const overlapSeconds = z.int().min(0).max(SECRET_OVERLAP_MAX_SECONDS).default(0).meta({
  description:
    'How long after that `webhook-signature` still has the signature of the old one too, for receivers that hold one secret.',
});

export const rotateInput = z
  .strictObject({
    secret: sharedSecret.optional().meta({ description: 'Base64 (after `whsec_` too), or text. Made if absent.' }),
    activateAfterSeconds,
    overlapSeconds,
  })
  .meta({ id: 'RotateSecretInput', description: 'The new secret, and when it begins to sign.' });
export type RotateSecretInput = z.output<typeof rotateInput>;

export const rotateApiKeyInput = z
  .strictObject({ apiKey: apiKey.optional().meta({ description: 'Made if absent.' }), activateAfterSeconds })
  .meta({ id: 'RotateApiKeyInput', description: 'The new API key, and when it begins to be sent.' });
export type RotateApiKeyInput = z.output<typeof rotateApiKeyInput>;

export const rotateAuthenticationInput = z
  .strictObject({ authentication: authenticationInput, activateAfterSeconds })
  .meta({ id: 'RotateAuthenticationInput', description: 'The new authentication, and when it begins to be sent.' });
export type RotateAuthenticationInput = z.output<typeof rotateAuthenticationInput>;

export function viewEndpoint(endpoint: Endpoint, now: number): EndpointView {
  const { id, customerId, name, url, contentEncoding, tokenChallenge, verification, verified, enabled } = endpoint;
  const { clientCertificate, clientCertificateExpiresAt, lastVerification, nextApiKey, nextApiKeyAt } = endpoint;
  const authentication = currentAuthentication(endpoint, now);
  const [key, otherKey] = publicKeys(endpoint, now);
  const keyWaits = nextApiKeyAt !== null && nextApiKeyAt > now;
  const ahead = (at: number | null): string | null => (at !== null && at > now ? isoInstant(at) : null);
  return {
    id,
    customerId,
    name,
    url,
    apiKey: currentApiKey(endpoint, now).reveal(),
    contentEncoding,
    tokenChallenge,
    verification,
    allowedRequestsPerMinute: endpoint.allowedRequestsPerMinute,
    verified,
    enabled,
    oauth: viewOauth(endpoint),
    signatureType: endpoint.signatureType,
    publicKey: shownKey(key),
    nextPublicKey: shownKey(otherKey),
    sendApiKey: endpoint.sendApiKey,
    authentication: authentication === null ? null : viewAuthentication(authentication),
    authenticationActivatesAt: ahead(endpoint.nextAuthenticationAt),
    requestHeaders: viewRequestHeaders(endpoint),
    clientCertificate:
      clientCertificate === null
        ? null
        : { certificate: clientCertificate, expiresAt: isoInstant(clientCertificateExpiresAt ?? 0) },
    secretCreatedAt: isoInstant(signingSecretCreatedAt(endpoint, now)),
    secretActivatesAt: ahead(endpoint.nextSecretAt),
    secretOverlapEndsAt: ahead(endpoint.secretOverlapEndsAt),
    nextApiKey: keyWaits ? (nextApiKey?.reveal() ?? null) : null,
    apiKeyActivatesAt: ahead(nextApiKeyAt),
    lastVerification: lastVerification === null ? null : viewVerification(lastVerification),
    createdAt: isoInstant(endpoint.createdAt),
    updatedAt: isoInstant(endpoint.updatedAt),
  };
}

function shownKey(publicKey: string | undefined): string | null {
  return publicKey === undefined ? null : PUBLIC_KEY_PREFIX + publicKey;
}

/** The OAuth settings without the client secret. */
export function viewOauth({
  oauthClientId: clientId,
  oauthTokenUrl: tokenUrl,
  oauthTokenExpirationMinutes: minutes,
  oauthScopes: scopes,
}: Endpoint): EndpointView['oauth'] {
  if (clientId === null || tokenUrl === null) return null;
  return { clientId, tokenUrl, tokenExpirationMinutes: minutes ?? 60, scopes };
}

/** The endpoint as the audit log compares it: fields by their API names, secrets included, and the verification as the view shows it. */
export function auditedEndpoint(endpoint: Endpoint): Readonly<Record<string, unknown>> {
  const { clientCertificateWarnedDays, secretCreatedAt, nextSecretCreatedAt, ...counted } = endpoint;
  const { nextSecretAt, nextApiKeyAt, lastVerification, ...rest } = counted;
  const { oauthClientId, oauthClientSecret, oauthTokenUrl, oauthTokenExpirationMinutes, oauthScopes, ...more } = rest;
  const { clientCertificate, clientPrivateKey, clientCertificateExpiresAt, ...most } = more;
  const { authentication, nextAuthentication, nextAuthenticationAt, requestHeaders, ...fields } = most;
  return {
    ...fields,
    authentication: auditedAuthentication(authentication),
    nextAuthentication: auditedAuthentication(nextAuthentication),
    authenticationActivatesAt: nextAuthenticationAt,
    requestHeaders: auditedRequestHeaders(endpoint),
    secretActivatesAt: nextSecretAt,
    apiKeyActivatesAt: nextApiKeyAt,
    'oauth.clientId': oauthClientId,
    'oauth.clientSecret': oauthClientSecret,
    'oauth.tokenUrl': oauthTokenUrl,
    'oauth.tokenExpirationMinutes': oauthTokenExpirationMinutes,
    'oauth.scopes': oauthScopes,
    'clientCertificate.certificate': clientCertificate,
    'clientCertificate.privateKey': clientPrivateKey,
    'clientCertificate.expiresAt': clientCertificateExpiresAt,
    lastVerification: lastVerification === null ? null : viewVerification(lastVerification),
  };
}

function viewVerification({
  exchange,
  allowedPerMinute,
  at,
  ...shown
}: Verification): NonNullable<EndpointView['lastVerification']> {
  return { ...shown, at: isoInstant(at) };
}
