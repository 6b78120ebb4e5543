/** Endpoints (contract §4): the rules beyond their schema, verification, and rotation of secrets and API keys. */

import type { Clock, Ids, Random } from '../kernel/ids.ts';
import { checkAll, refuseField, refuseFields } from '../kernel/refusal.ts';
import { type Secret, secret } from '../kernel/secret.ts';
import type { EgressPolicy } from '../outbound/egress.ts';
import type { Acting } from '../resources/acting.ts';
import { type Administration, administer, type Build } from '../resources/administration.ts';
import type { Beside } from '../store/resource.ts';
import type { Store } from '../store/store.ts';
import type { WebhookStart } from '../store/webhooks.ts';
import {
  clientCertificateOf,
  currentApiKey,
  type Endpoint,
  howToVerify,
  signingSecret,
  signingSecretCreatedAt,
} from './endpoint.ts';
import {
  apiKeyColumns,
  certificateColumns,
  madeApiKey,
  NO_CERTIFICATE,
  oauthColumns,
  refuseSecretElsewhere,
  secretOf,
} from './endpoint-credentials.ts';
import {
  auditedEndpoint,
  type EndpointBody,
  type EndpointInput,
  endpointReader,
  type RotateApiKeyInput,
  type RotateSecretInput,
  viewEndpoint,
  viewOauth,
} from './endpoint-schema.ts';
import { serviceStartEntry, startedProgress, stateChange } from './lifecycle.ts';
import { standardEndpointProblems } from './standard-webhooks-rule.ts';
import { refuseNewUrl } from './url.ts';
import { type Challenge, challengeOnce } from './verification.ts';

export type Endpoints = Administration<Endpoint, EndpointBody, EndpointInput> & {
  /**
   * Challenges the endpoint now and keeps the result in `lastVerification`. Success enables it unless somebody set `enabled: false`.
   * Failure changes nothing else of a verified endpoint (contract §4).
   */
  verify(id: string, acting: Acting): Promise<Endpoint>;
  /** Sets a new secret, given or random. Only the reply shows it. It signs after `activateAfterSeconds`. */
  rotateSecret(
    id: string,
    input: RotateSecretInput,
    acting: Acting,
    beside?: Beside<WithNewSecret>,
  ): Promise<WithNewSecret>;
  /** Sets a new API key, given or random. It is sent after `activateAfterSeconds`. */
  rotateApiKey(id: string, input: RotateApiKeyInput, acting: Acting, beside?: Beside<Endpoint>): Promise<Endpoint>;
};

export type WithNewSecret = { readonly endpoint: Endpoint; readonly newSecret: Secret };

type Dependencies = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly egress: EgressPolicy;
  readonly challenge: Challenge;
  /** Tells the dispatcher that there may be work. */
  readonly wake: () => void;
};

export function createEndpoints({ store, clock, ids, random, egress, challenge, wake }: Dependencies): Endpoints {
  const buildWith =
    (challenge: Challenge): Build<Endpoint, EndpointBody, EndpointInput> =>
    async (input, before, stamp, patch) => {
      // Only new values are checked: an endpoint can be disabled even if its URL or certificate would now be refused.
      const tokenUrl = input.oauth?.tokenUrl ?? null;
      let certificate = NO_CERTIFICATE;
      await checkAll([
        () => refuseNewUrl('url', input.url, before?.url, egress),
        () => refuseNewUrl('oauth.tokenUrl', tokenUrl, before?.oauthTokenUrl, egress),
        () => {
          certificate = certificateColumns(input.clientCertificate, before, clock());
        },
        () => refuseForStandardWebhooks(stamp.id, { contentEncoding: input.contentEncoding }),
      ]);
      if (before !== null && tokenUrl !== null) refuseSecretElsewhere(before, tokenUrl, patch);
      const moved = before !== null && before.url !== input.url;
      const verified = before !== null && !moved && before.verified;
      const due = input.tokenChallenge && !verified && (moved || before?.tokenChallenge !== true);
      const wanted = input.enabled ?? before?.enableWhenVerified ?? true;
      if (before !== null && input.enabled === true && input.tokenChallenge && !verified && !due) {
        const problem = `must be false until the endpoint is verified; ${howToVerify(stamp.id)}`;
        throw refuseField('enabled', problem, 'not_verified');
      }
      const endpoint: Endpoint = {
        ...stamp,
        name: input.name,
        url: input.url,
        ...apiKeyColumns(input.apiKey ?? madeApiKey(random), before, patch, clock()),
        secret: before?.secret ?? secretOf(input.secret, random),
        secretCreatedAt: before?.secretCreatedAt ?? stamp.createdAt,
        nextSecret: before?.nextSecret ?? null,
        nextSecretCreatedAt: before?.nextSecretCreatedAt ?? null,
        nextSecretAt: before?.nextSecretAt ?? null,
        secretOverlapEndsAt: before?.secretOverlapEndsAt ?? null,
        contentEncoding: input.contentEncoding,
        tokenChallenge: input.tokenChallenge,
        verified,
        enabled: false,
        enableWhenVerified: wanted,
        ...oauthColumns(input.oauth),
        ...certificate,
        lastVerification: moved ? null : (before?.lastVerification ?? null),
      };
      return challengeAndEnable(challenge, endpoint, wanted, due);
    };

  /** The service stopped these webhooks because the endpoint was disabled. They start when it is enabled (contract §4). */
  const startsOf = async (endpoint: Endpoint, before: Endpoint): Promise<WebhookStart[]> => {
    if (before.enabled || !endpoint.enabled) return [];
    const now = clock();
    return (await store.webhooks.stoppedWithEndpoint(endpoint.id)).map((webhook) => {
      const after = startedProgress(webhook.progress, { sessionId: ids.uuid(), now });
      return { change: stateChange(webhook, after, ids), audit: serviceStartEntry(webhook, after, ids) };
    });
  };

  const update: typeof store.endpoints.update = async (endpoint, before, audit, first) => {
    const starts = await startsOf(endpoint, before);
    await store.endpoints.update(endpoint, before, audit, first, starts);
    for (const { change } of starts)
      await store.webhooks.resume(change.progress.webhookNumber, change.progress.stateAt);
  };

  const administration = administer<Endpoint, EndpointBody, EndpointInput>(
    {
      name: 'endpoint',
      store: { ...store.endpoints, update },
      reader: endpointReader,
      writable,
      shown: (endpoint) => viewEndpoint(endpoint, clock()),
      build: buildWith(challenge),
      referrers: async ({ id }) =>
        (await store.webhooks.ofEndpoint(id)).map((webhook) => `webhook ${webhook.name} (${webhook.id})`),
      unique: {},
      audited: auditedEndpoint,
    },
    { clock, ids },
  );

  /** Refuses settings that Standard Webhooks' libraries could not verify, if a webhook of the endpoint uses Standard Webhooks. */
  async function refuseForStandardWebhooks(
    id: string,
    settings: Parameters<typeof standardEndpointProblems>[0],
  ): Promise<void> {
    const [webhook] = await store.webhooks.standardOfEndpoint(id);
    const problems = webhook === undefined ? [] : standardEndpointProblems(settings, webhook);
    if (problems.length > 0) throw refuseFields(problems);
  }

  /** The dispatcher stops the webhooks of a disabled endpoint when it next looks at them. */
  const telling = async (change: Promise<Endpoint>): Promise<Endpoint> => {
    const endpoint = await change;
    wake();
    return endpoint;
  };

  return {
    ...administration,
    patch: (id, patch, acting) =>
      telling(administration.patch(id, patch, acting, buildWith(challengeOnce(challenge, clock)))),
    verify: (id, acting) => {
      const challengeForThis = challengeOnce(challenge, clock);
      return telling(
        administration.change(id, 'endpoint.verify', acting, async (before, { updatedAt }) => {
          const wanted = before.enableWhenVerified;
          const after = await challengeAndEnable(challengeForThis, { ...before, updatedAt }, wanted, true);
          const { lastVerification } = after;
          return before.verified && !after.verified ? { ...before, updatedAt, lastVerification } : after;
        }),
      );
    },
    rotateSecret: async (id, input, acting, beside) => {
      const newSecret = secretOf(input.secret, random);
      const { activateAfterSeconds, overlapSeconds } = input;
      const endpoint = await administration.change(
        id,
        'endpoint.rotate-secret',
        acting,
        async (before, { updatedAt }) => {
          await refuseForStandardWebhooks(id, { secret: newSecret.reveal() });
          const rotated = { ...before, updatedAt };
          // Without an overlap the old secret is deleted at once, because it may have leaked.
          if (activateAfterSeconds === 0 && overlapSeconds === 0)
            return { ...rotated, ...NO_NEXT_SECRET, secret: newSecret, secretCreatedAt: updatedAt };
          const nextSecretAt = updatedAt + activateAfterSeconds * 1000;
          return {
            ...rotated,
            secret: signingSecret(before, updatedAt),
            secretCreatedAt: signingSecretCreatedAt(before, updatedAt),
            nextSecret: newSecret,
            nextSecretCreatedAt: updatedAt,
            nextSecretAt,
            secretOverlapEndsAt: nextSecretAt + overlapSeconds * 1000,
          };
        },
        beside && ((changed) => beside({ endpoint: changed, newSecret })),
      );
      return { endpoint, newSecret };
    },
    rotateApiKey: async (id, input, acting, beside) => {
      const newApiKey = secret(input.apiKey ?? madeApiKey(random));
      return administration.change(
        id,
        'endpoint.rotate-api-key',
        acting,
        (before, { updatedAt }) => {
          const later = input.activateAfterSeconds > 0;
          return {
            ...before,
            updatedAt,
            apiKey: later ? currentApiKey(before, updatedAt) : newApiKey,
            nextApiKey: later ? newApiKey : null,
            nextApiKeyAt: later ? updatedAt + input.activateAfterSeconds * 1000 : null,
          };
        },
        beside,
      );
    },
  };
}

const NO_NEXT_SECRET = {
  nextSecret: null,
  nextSecretCreatedAt: null,
  nextSecretAt: null,
  secretOverlapEndsAt: null,
} as const;

/** Runs the challenge if it is due, and enables or disables the endpoint by its result. */
async function challengeAndEnable(
  challenge: Challenge,
  endpoint: Endpoint,
  wanted: boolean,
  due: boolean,
): Promise<Endpoint> {
  const lastVerification = due ? await challenge(endpoint) : endpoint.lastVerification;
  const verified = due ? lastVerification?.verified === true : endpoint.verified;
  const usable = verified || !endpoint.tokenChallenge;
  return { ...endpoint, lastVerification, verified, enabled: wanted && usable, enableWhenVerified: wanted };
}

/** The target of a merge patch. Secrets stay unless the patch names them. `enabled` is absent: a patch sets it or leaves it. */
function writable(endpoint: Endpoint): EndpointBody {
  const { name, url, contentEncoding, tokenChallenge, oauthClientSecret } = endpoint;
  const oauth = viewOauth(endpoint);
  return {
    ...{ name, url, apiKey: endpoint.apiKey.reveal(), contentEncoding, tokenChallenge },
    oauth: oauth === null || oauthClientSecret === null ? null : { ...oauth, clientSecret: oauthClientSecret.reveal() },
    clientCertificate: clientCertificateOf(endpoint),
  };
}
