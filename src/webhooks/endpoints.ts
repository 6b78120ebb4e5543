/** Endpoints (contract §4.2, §4.8, §4.11): the rules beyond their schema, verification, and rotation of secrets and API keys. */
import type { Acting } from '../domain/acting.ts';
import { clientCertificateOf, currentAuthentication, type Endpoint, mustBeVerified } from '../domain/endpoint.ts';
import { serviceStartEntry, startedProgress, stateChange } from '../domain/webhook-states.ts';
import type { Clock, Ids, Random } from '../kernel/ids.ts';
import { checkAll, refuseField, refuseFields } from '../kernel/refusal.ts';
import { type Secret, secret } from '../kernel/secret.ts';
import type { Egress } from '../outbound/egress.ts';
import { type Administration, administer, type Build } from '../resources/administration.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import type { Beside } from '../store/port/resource.ts';
import type { Store } from '../store/port/store.ts';
import type { WebhookStart, WebhookVerbs } from '../store/port/webhooks.ts';
import { verifyFirst } from './endings.ts';
import {
  authenticationColumns,
  requestHeadersColumn,
  viewRequestHeaders,
  writtenAuthentication,
} from './endpoint-authentication.ts';
import {
  apiKeyColumns,
  certificateColumns,
  keyColumns,
  madeApiKey,
  NO_CERTIFICATE,
  oauthColumns,
  refuseSecretElsewhere,
  secretOf,
} from './endpoint-credentials.ts';
import {
  withNewApiKey,
  withNewAuthentication,
  withNewKey,
  withNewSecret,
  withNextSecretNow,
} from './endpoint-rotations.ts';
import {
  auditedEndpoint,
  type EndpointBody,
  type EndpointInput,
  endpointReader,
  type RotateApiKeyInput,
  type RotateAuthenticationInput,
  type RotateSecretInput,
  viewEndpoint,
  viewOauth,
} from './endpoint-schema.ts';
import { addsHeaders, refuseHeaders } from './header-rule.ts';
import { standardEndpointProblems } from './standard-webhooks-rule.ts';
import { refuseNewUrl } from './url.ts';
import { type ChallengeEndpoint, challengeOnce } from './verification.ts';

export type Endpoints = Administration<Endpoint, EndpointBody, EndpointInput> & {
  /**
   * Challenges the endpoint now and keeps the result in `lastVerification`. Success enables it unless someone set `enabled: false`.
   * Failure changes nothing else of a verified endpoint (contract §4.11).
   */
  verify(id: string, acting: Acting): Promise<Endpoint>;
  /** Sets a new secret, given or random. Only the reply shows it. It signs after `activateAfterSeconds`. */
  rotateSecret(
    id: string,
    input: RotateSecretInput,
    acting: Acting,
    beside?: Beside<WithNewSecret>,
  ): Promise<WithNewSecret>;
  /** Uses the scheduled secret from now on. Throws `invalid_state` if none is scheduled. */
  useNextSecret(id: string, acting: Acting): Promise<Endpoint>;
  /** Sets a new API key, given or random. It is sent after `activateAfterSeconds`. */
  rotateApiKey(id: string, input: RotateApiKeyInput, acting: Acting, beside?: Beside<Endpoint>): Promise<Endpoint>;
  /** Sets a new authentication of an endpoint that has one. It is sent after `activateAfterSeconds`. */
  rotateAuthentication(
    id: string,
    input: RotateAuthenticationInput,
    acting: Acting,
    beside?: Beside<Endpoint>,
  ): Promise<Endpoint>;
};

export type WithNewSecret = { readonly endpoint: Endpoint; readonly newSecret: Secret };

type Dependencies = {
  readonly store: CustomerVerbs & WebhookVerbs & Pick<Store, 'customerId'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly egress: Egress;
  readonly challenge: ChallengeEndpoint;
  /** Tells the dispatcher that there may be work. */
  readonly wake: () => void;
};

export function createEndpoints(dependencies: Dependencies): Endpoints {
  const { store, clock, ids, random, challenge, wake } = dependencies;
  const administration = administer<Endpoint, EndpointBody, EndpointInput>(
    {
      name: 'endpoint',
      store: { ...store.endpoints, update: updateWith(dependencies) },
      owners: store,
      limited: 'endpoints',
      reader: endpointReader,
      writable: (endpoint) => writable(endpoint, clock()),
      shown: (endpoint) => viewEndpoint(endpoint, clock()),
      build: buildWith(dependencies, challenge),
      referrers: async ({ id }) =>
        (await store.webhooks.ofEndpoint(id)).map((webhook) => `webhook ${webhook.name} (${webhook.id})`),
      audited: auditedEndpoint,
    },
    { clock, ids },
  );

  /** The dispatcher stops the webhooks of a disabled endpoint when it next looks at them. */
  const announced = async (change: Promise<Endpoint>): Promise<Endpoint> => {
    const endpoint = await change;
    wake();
    return endpoint;
  };

  return {
    ...administration,
    patch: (id, patch, acting) =>
      announced(administration.patch(id, patch, acting, buildWith(dependencies, challengeOnce(challenge, clock)))),
    verify: (id, acting) => {
      const challengeForThis = challengeOnce(challenge, clock);
      return announced(
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
      const endpoint = await administration.change(
        id,
        'endpoint.rotate-secret',
        acting,
        async (before, { updatedAt }) => {
          await refuseForStandardWebhooks(store, id, { secret: newSecret.reveal() });
          return withNewKey(withNewSecret(before, newSecret, input, updatedAt), before, random);
        },
        beside && ((changed) => beside({ endpoint: changed, newSecret })),
      );
      return { endpoint, newSecret };
    },
    useNextSecret: (id, acting) =>
      administration.change(id, 'endpoint.rotate-secret', acting, (before, { updatedAt }) =>
        withNextSecretNow(before, updatedAt),
      ),
    rotateApiKey: async (id, input, acting, beside) => {
      const newApiKey = secret(input.apiKey ?? madeApiKey(random));
      return administration.change(
        id,
        'endpoint.rotate-api-key',
        acting,
        (before, { updatedAt }) => withNewApiKey(before, newApiKey, input, updatedAt),
        beside,
      );
    },
    rotateAuthentication: (id, input, acting, beside) =>
      administration.change(
        id,
        'endpoint.rotate-authentication',
        acting,
        async (before, { updatedAt }) => {
          const after = withNewAuthentication(before, input, updatedAt);
          await refuseHeaders(store, after, before);
          return after;
        },
        beside,
      ),
  };
}

/** Makes the endpoint of an input, and challenges it if its URL is new. */
function buildWith(
  { store, clock, random, egress }: Dependencies,
  challenge: ChallengeEndpoint,
): Build<Endpoint, EndpointBody, EndpointInput> {
  return async (input, before, stamp, patch) => {
    // Only new values are checked: an endpoint can be disabled even if its URL or certificate would now be refused.
    const tokenUrl = input.oauth?.tokenUrl ?? null;
    const policy = input.customerId === null ? egress.operator : egress.customers;
    let certificate = NO_CERTIFICATE;
    let own = NO_OWN_HEADERS;
    await checkAll([
      () => refuseNewUrl('url', input.url, before?.url, policy),
      () => refuseNewUrl('oauth.tokenUrl', tokenUrl, before?.oauthTokenUrl, policy),
      () => {
        certificate = certificateColumns(input.clientCertificate, before, clock());
      },
      () => {
        own = { ...own, ...authenticationColumns(input.authentication, before, patch, clock()) };
      },
      () => {
        own = { ...own, requestHeaders: requestHeadersColumn(input.requestHeaders, before) };
      },
      () => refuseForStandardWebhooks(store, stamp.id, { contentEncoding: input.contentEncoding }),
    ]);
    if (before !== null && tokenUrl !== null) refuseSecretElsewhere(before, tokenUrl, patch);
    const { moved, verified, due } = verificationOf(input, before, stamp.id);
    const wanted = input.enabled ?? before?.enableWhenVerified ?? true;
    const endpoint: Endpoint = {
      ...stamp,
      customerId: input.customerId,
      name: input.name,
      url: input.url,
      ...apiKeyColumns(input.apiKey ?? madeApiKey(random), before, patch, clock()),
      secret: before?.secret ?? secretOf(input.secret, random),
      secretCreatedAt: before?.secretCreatedAt ?? stamp.createdAt,
      nextSecret: before?.nextSecret ?? null,
      nextSecretCreatedAt: before?.nextSecretCreatedAt ?? null,
      nextSecretAt: before?.nextSecretAt ?? null,
      signatureType: input.signatureType,
      ...keyColumns(input.signatureType, before, random),
      secretOverlapEndsAt: before?.secretOverlapEndsAt ?? null,
      contentEncoding: input.contentEncoding,
      tokenChallenge: input.tokenChallenge,
      verification: input.verification,
      allowedRequestsPerMinute:
        verified && input.verification !== null ? (before?.allowedRequestsPerMinute ?? null) : null,
      verified,
      enabled: false,
      enableWhenVerified: wanted,
      ...oauthColumns(input.oauth),
      sendApiKey: input.sendApiKey,
      ...own,
      ...certificate,
      lastVerification: moved ? null : (before?.lastVerification ?? null),
    };
    await refuseHeaders(store, endpoint, before);
    return { record: await challengeAndEnable(challenge, endpoint, wanted, due) };
  };
}

/**
 * `verified`: a verification of the endpoint still holds. `due`: it is challenged now. Throws 400 for two ways of verification, and for an
 * endpoint that is to be enabled before it is verified.
 */
function verificationOf(
  input: EndpointInput,
  before: Endpoint | null,
  id: string,
): Readonly<Record<'moved' | 'verified' | 'due', boolean>> {
  if (input.tokenChallenge && input.verification !== null) {
    throw refuseFields([
      {
        field: 'tokenChallenge',
        problem: 'cannot be combined with verification: an endpoint is verified in one way',
      },
      { field: 'verification', problem: 'cannot be combined with tokenChallenge' },
    ]);
  }
  const moved = before !== null && before.url !== input.url;
  const isNewHandshake = input.verification !== null && before?.verification !== input.verification;
  const verified = before !== null && !moved && before.verified && !isNewHandshake;
  const isNewRule = isNewHandshake || (input.tokenChallenge && before?.tokenChallenge !== true);
  const due = mustBeVerified(input) && !verified && (moved || isNewRule);
  if (before !== null && input.enabled === true && mustBeVerified(input) && !verified && !due)
    throw refuseField('enabled', 'must be false until the endpoint is verified', 'not_verified', {
      ending: verifyFirst({ id, name: input.name }),
    });
  return { moved, verified, due };
}

/** Writes a changed endpoint, and starts the webhooks that the service stopped with it if it is enabled again (contract §4.12). */
function updateWith({ store, clock, ids }: Dependencies): Store['endpoints']['update'] {
  const startsOf = async (endpoint: Endpoint, before: Endpoint): Promise<WebhookStart[]> => {
    if (before.enabled || !endpoint.enabled) return [];
    const now = clock();
    return (await store.webhooks.stoppedWithEndpoint(endpoint.id)).map((webhook) => {
      const after = startedProgress(webhook, { sessionId: ids.uuid(), now });
      return { change: stateChange(webhook, after, ids), audit: serviceStartEntry(webhook, after, ids) };
    });
  };
  return async (endpoint, before, audit, first) => {
    const webhooks = await checkedWebhooks(store, endpoint, before);
    const starts = await startsOf(endpoint, before);
    await store.endpoints.update(endpoint, before, audit, first, starts, webhooks);
    for (const { change } of starts)
      await store.webhooks.resume(change.progress.webhookNumber, change.progress.stateAt);
  };
}

/**
 * The version of the endpoint's webhooks, which allow the change. A webhook may have been made since the change was checked first, which
 * may have taken as long as a challenge. Undefined for changes that no webhook can forbid.
 */
async function checkedWebhooks(
  store: Dependencies['store'],
  endpoint: Endpoint,
  before: Endpoint,
): Promise<string | undefined> {
  const { id, contentEncoding } = endpoint;
  const known = [before.secret, before.nextSecret];
  const newSecret = [endpoint.secret, endpoint.nextSecret].find((one) => one !== null && !known.includes(one));
  if (contentEncoding === before.contentEncoding && newSecret === undefined && !addsHeaders(endpoint, before))
    return undefined;
  const version = await store.webhooks.versionAt(id);
  await refuseForStandardWebhooks(store, id, { contentEncoding, ...(newSecret && { secret: newSecret.reveal() }) });
  await refuseHeaders(store, endpoint, before);
  return version;
}

/** Refuses settings that Standard Webhooks' libraries could not verify, if a webhook of the endpoint uses Standard Webhooks. */
async function refuseForStandardWebhooks(
  store: Dependencies['store'],
  id: string,
  settings: Parameters<typeof standardEndpointProblems>[0],
): Promise<void> {
  const [webhook] = await store.webhooks.standardOfEndpoint(id);
  const problems = webhook === undefined ? [] : standardEndpointProblems(settings, webhook);
  if (problems.length > 0) throw refuseFields(problems);
}

const NO_OWN_HEADERS: Pick<
  Endpoint,
  'authentication' | 'nextAuthentication' | 'nextAuthenticationAt' | 'requestHeaders'
> = { authentication: null, nextAuthentication: null, nextAuthenticationAt: null, requestHeaders: null };

/** Runs the challenge if it is due, and enables or disables the endpoint by its result. */
async function challengeAndEnable(
  challenge: ChallengeEndpoint,
  endpoint: Endpoint,
  wanted: boolean,
  due: boolean,
): Promise<Endpoint> {
  const lastVerification = due ? await challenge(endpoint) : endpoint.lastVerification;
  const verified = due ? lastVerification?.verified === true : endpoint.verified;
  const usable = verified || !mustBeVerified(endpoint);
  const rate = lastVerification?.verified === true ? (lastVerification.allowedPerMinute ?? null) : null;
  const allowedRequestsPerMinute = due && endpoint.verification !== null ? rate : endpoint.allowedRequestsPerMinute;
  return {
    ...endpoint,
    lastVerification,
    allowedRequestsPerMinute,
    verified,
    enabled: wanted && usable,
    enableWhenVerified: wanted,
  };
}

/** The target of a merge patch. Secrets stay unless the patch names them. `enabled` is absent: a patch sets it or leaves it. */
function writable(endpoint: Endpoint, now: number): EndpointBody {
  const { customerId, name, url, contentEncoding, tokenChallenge, verification, oauthClientSecret } = endpoint;
  const oauth = viewOauth(endpoint);
  const authentication = currentAuthentication(endpoint, now);
  return {
    customerId,
    name,
    url,
    apiKey: endpoint.apiKey.reveal(),
    contentEncoding,
    tokenChallenge,
    verification,
    oauth: oauth === null || oauthClientSecret === null ? null : { ...oauth, clientSecret: oauthClientSecret.reveal() },
    signatureType: endpoint.signatureType,
    sendApiKey: endpoint.sendApiKey,
    authentication: authentication === null ? null : writtenAuthentication(authentication),
    requestHeaders: viewRequestHeaders(endpoint),
    clientCertificate: clientCertificateOf(endpoint),
  };
}
