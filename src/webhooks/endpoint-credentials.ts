/** The credentials of an endpoint as they are given, checked and stored: API key, secret, OAuth settings, client certificate. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { currentApiKey, type Endpoint } from '../domain/endpoint.ts';
import type { Random } from '../kernel/ids.ts';
import { refuseField } from '../kernel/refusal.ts';
import { type Secret, secret } from '../kernel/secret.ts';
import { isObject } from '../kernel/validation.ts';
import type { MergePatch } from '../resources/input.ts';
import { ed25519PublicKey } from '../wire/ed25519.ts';
import { givenSecret } from '../wire/signature.ts';
import type { EndpointBody, EndpointInput } from './endpoint-schema.ts';

type Patch = MergePatch<EndpointBody>;

export function madeApiKey(random: Random): string {
  return Buffer.from(random(16)).toString('hex');
}

function madeSecret(random: Random): string {
  return Buffer.from(random(32)).toString('base64');
}

/** The secret of a checked request without the prefix of Standard Webhooks, or a new random one. */
export function secretOf(text: string | undefined, random: Random): Secret {
  return secret(text === undefined ? madeSecret(random) : (givenSecret(text) ?? text));
}

type KeyColumns = Pick<Endpoint, 'signingKey' | 'publicKey' | 'nextSigningKey' | 'nextPublicKey'>;

const NO_KEYS: KeyColumns = { signingKey: null, publicKey: null, nextSigningKey: null, nextPublicKey: null };

/** A new Ed25519 key. */
export function madeSigningKey(random: Random): { readonly signingKey: Secret; readonly publicKey: string } {
  const seed = Buffer.from(random(32)).toString('base64');
  return { signingKey: secret(seed), publicKey: ed25519PublicKey(seed) };
}

/** The keys of an endpoint with this signature type: its current ones, or a new one. */
export function keyColumns(type: Endpoint['signatureType'], before: Endpoint | null, random: Random): KeyColumns {
  if (type === 'hmac') return NO_KEYS;
  if (before === null || before.signingKey === null) return { ...NO_KEYS, ...madeSigningKey(random) };
  const { signingKey, publicKey, nextSigningKey, nextPublicKey } = before;
  return { signingKey, publicKey, nextSigningKey, nextPublicKey };
}

type ApiKeyColumns = Pick<Endpoint, 'apiKey' | 'nextApiKey' | 'nextApiKeyAt'>;

/**
 * A scheduled API key stays scheduled if the patch repeats the key that is sent at `now`, because a client may send back what it read.
 * A rotated key that is already in use still counts as the next one here, so a patch may set the former key again.
 */
export function apiKeyColumns(given: string, before: Endpoint | null, patch: Patch | null, now: number): ApiKeyColumns {
  const isGiven = patch === null || Object.hasOwn(patch, 'apiKey');
  if (before === null || (isGiven && currentApiKey(before, now).reveal() !== given))
    return { apiKey: secret(given), nextApiKey: null, nextApiKeyAt: null };
  const { apiKey, nextApiKey, nextApiKeyAt } = before;
  return { apiKey, nextApiKey, nextApiKeyAt };
}

/**
 * A client secret is only sent to the server that it was given for. Otherwise anyone who may change the URL could have the secret sent to
 * a server of their own.
 */
export function refuseSecretElsewhere({ oauthTokenUrl }: Endpoint, tokenUrl: string, patch: Patch | null): void {
  const isGiven = isObject(patch?.oauth) && Object.hasOwn(patch.oauth, 'clientSecret');
  if (isGiven || oauthTokenUrl === null || new URL(oauthTokenUrl).origin === new URL(tokenUrl).origin) return;
  throw refuseField('oauth.clientSecret', 'is required: the one that is kept is not sent to another server');
}

type OauthColumns = Pick<Endpoint, Extract<keyof Endpoint, `oauth${string}`>>;

export function oauthColumns(oauth: EndpointInput['oauth']): OauthColumns {
  return {
    oauthClientId: oauth?.clientId ?? null,
    oauthClientSecret: oauth === null ? null : secret(oauth.clientSecret),
    oauthTokenUrl: oauth?.tokenUrl ?? null,
    oauthTokenExpirationMinutes: oauth?.tokenExpirationMinutes ?? null,
    oauthScopes: oauth?.scopes ?? null,
  };
}

type CertificateColumns = Pick<
  Endpoint,
  'clientCertificate' | 'clientPrivateKey' | 'clientCertificateExpiresAt' | 'clientCertificateWarnedDays'
>;

export const NO_CERTIFICATE: CertificateColumns = {
  clientCertificate: null,
  clientPrivateKey: null,
  clientCertificateExpiresAt: null,
  clientCertificateWarnedDays: null,
};

/** The columns for a given certificate. Those of an unchanged certificate stay. Throws a refusal that names the field. */
export function certificateColumns(
  given: EndpointInput['clientCertificate'],
  before: CertificateColumns | null,
  now: number,
): CertificateColumns {
  if (given === null) return NO_CERTIFICATE;
  if (given.certificate === before?.clientCertificate && given.privateKey === before.clientPrivateKey?.reveal()) {
    const { clientCertificate, clientPrivateKey, clientCertificateExpiresAt, clientCertificateWarnedDays } = before;
    return { clientCertificate, clientPrivateKey, clientCertificateExpiresAt, clientCertificateWarnedDays };
  }
  const certificate = parsed(
    'clientCertificate.certificate',
    'is not a certificate in PEM',
    () => new X509Certificate(given.certificate),
  );
  const privateKey = parsed('clientCertificate.privateKey', 'is not an unencrypted private key in PEM', () =>
    createPrivateKey(given.privateKey),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw refuseField('clientCertificate.privateKey', 'is not the key of the certificate');
  }
  const expiresAt = Date.parse(certificate.validTo);
  if (expiresAt <= now) throw refuseField('clientCertificate.certificate', 'has expired');
  return {
    clientCertificate: given.certificate,
    clientPrivateKey: secret(given.privateKey),
    clientCertificateExpiresAt: expiresAt,
    clientCertificateWarnedDays: null,
  };
}

function parsed<T>(field: string, problem: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw refuseField(field, problem);
  }
}
