/** The request that a receiver would get with some settings of a webhook: the same code makes it that makes deliveries. Nothing is sent. */

import type { Endpoint } from '../../domain/endpoint.ts';
import type { PgpKey, WebhookConfiguration } from '../../domain/webhook.ts';
import type { Clock, Ids } from '../../kernel/ids.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { secret } from '../../kernel/secret.ts';
import { bodyRequest, makeBody } from '../body.ts';
import type { FormatOf } from '../format.ts';
import { shownMessage } from '../send.ts';
import { type Sample, trialRecord } from './trial-body.ts';

export type PreviewedRequest = {
  readonly url: string;
  /** As sent, secrets masked. */
  readonly headers: Readonly<Record<string, string>>;
  /** The size of the body as sent, and its text before it is compressed and encrypted. */
  readonly bodyBytes: number;
  readonly clear: string;
  readonly isEncoded: boolean;
};

type Settings = {
  readonly webhook: WebhookConfiguration;
  /** Null if none is chosen yet: the request is the one to `EXAMPLE_URL`. */
  readonly endpoint: Endpoint | null;
  readonly key: PgpKey | null;
};

/** Nothing is ever sent there. */
const EXAMPLE_URL = 'https://receiver.example/webhooks';

export type PreviewRequest = (settings: Settings, sample: Sample) => Promise<PreviewedRequest>;

type Dependencies = { readonly clock: Clock; readonly ids: Ids; readonly formatOf: FormatOf };

/** Throws a `Refusal` if the body cannot be encrypted. */
export function createRequestPreview({ clock, ids, formatOf }: Dependencies): PreviewRequest {
  return async ({ webhook, endpoint: chosen, key }, sample) => {
    const now = clock();
    const endpoint = chosen ?? exampleEndpoint(webhook.customerId, ids.uuid(), now);
    const record = trialRecord(sample, { ids, now });
    const format = await formatOf(webhook);
    const attempt = { sessionId: ids.uuid(), attemptNumber: 1, now };
    const request = { ...bodyRequest({ webhook, endpoint, key }, attempt), format };
    const [body, clear] = await Promise.all([
      makeBody(request, [record]),
      makeBody({ ...request, gzip: false, encryption: null }, [record]),
    ]);
    if (!body.ok) throw new Refusal('invalid_state', body.message);
    if (!clear.ok) throw new Refusal('invalid_state', clear.message);
    return {
      ...shownMessage({ webhook, endpoint, batchId: ids.uuid(), body, now }, body),
      bodyBytes: body.bytes.byteLength,
      clear: Buffer.from(clear.bytes).toString('utf8'),
      isEncoded: request.gzip || request.encryption !== null,
    };
  };
}

/** An endpoint as its form makes it if nothing but the name and the URL is entered. */
function exampleEndpoint(customerId: string | null, id: string, now: number): Endpoint {
  return {
    id,
    customerId,
    name: 'example',
    url: EXAMPLE_URL,
    apiKey: secret('example'),
    secret: secret('ZXhhbXBsZSBleGFtcGxlIGV4YW1wbGUh'),
    secretCreatedAt: now,
    nextSecret: null,
    nextSecretCreatedAt: null,
    nextSecretAt: null,
    signatureType: 'hmac',
    signingKey: null,
    publicKey: null,
    nextSigningKey: null,
    nextPublicKey: null,
    secretOverlapEndsAt: null,
    nextApiKey: null,
    nextApiKeyAt: null,
    sendApiKey: true,
    authentication: null,
    nextAuthentication: null,
    nextAuthenticationAt: null,
    requestHeaders: null,
    contentEncoding: null,
    tokenChallenge: true,
    verification: null,
    allowedRequestsPerMinute: null,
    verified: true,
    enabled: true,
    enableWhenVerified: true,
    oauthClientId: null,
    oauthClientSecret: null,
    oauthTokenUrl: null,
    oauthTokenExpirationMinutes: null,
    oauthScopes: null,
    clientCertificate: null,
    clientPrivateKey: null,
    clientCertificateExpiresAt: null,
    clientCertificateWarnedDays: null,
    lastVerification: null,
    createdAt: now,
    updatedAt: now,
  };
}
