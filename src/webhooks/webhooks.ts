/** Webhooks (contract §4.2, §4.12, §5.10): their rules, starting, stopping, and replaying a part of the log. */
import { isDeepStrictEqual } from 'node:util';
import type { Acting } from '../domain/acting.ts';
import { type AuditEntry, auditEntry } from '../domain/audit.ts';
import type { Customer } from '../domain/customer.ts';
import { type Endpoint, isUnverified } from '../domain/endpoint.ts';
import { type EventType, encryptionNeed, matchingTypes, typesFor } from '../domain/event.ts';
import type { PgpKey, Progress, SignatureTemplate, Webhook } from '../domain/webhook.ts';
import { signsStandard } from '../domain/webhook-format.ts';
import {
  HEALTHY,
  isRunnable,
  isStoppedFor,
  startedProgress,
  stateChange,
  stoppedProgress,
} from '../domain/webhook-states.ts';
import { noSuchType } from '../events/event-types.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { type FieldProblem, Refusal, refuseFields } from '../kernel/refusal.ts';
import { isObject } from '../kernel/validation.ts';
import { type Administration, administer, type Stamp } from '../resources/administration.ts';
import { refuseChanged } from '../resources/entity-tag.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import type { DeliveryVerbs } from '../store/port/deliveries.ts';
import { retryStale } from '../store/port/errors.ts';
import type { EventVerbs } from '../store/port/events.ts';
import type { Store } from '../store/port/store.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { type Acknowledge, createAcknowledge, type ObserveAcknowledged } from './acknowledge.ts';
import { askedReplay, type ReplayRequest, refusePulledReplay } from './deliveries.ts';
import { enableFirst, verifyFirst } from './endings.ts';
import { previewFilter } from './filter-preview.ts';
import { headerProblems } from './header-rule.ts';
import { isExpired } from './keys.ts';
import { modeProblems } from './pull-rule.ts';
import { signatureOf } from './signature-schema.ts';
import { standardWebhooksProblems } from './standard-webhooks-rule.ts';
import { createKeyOrder, type KeyOrder } from './waiting-keys.ts';
import { formatProblems } from './webhook-format-rule.ts';
import { retrySettings, viewRetry } from './webhook-retry.ts';
import {
  type FilterPreview,
  type FilterPreviewInput,
  viewWebhook,
  type WebhookBody,
  type WebhookInput,
  webhookReader,
} from './webhook-schema.ts';

export type Webhooks = Administration<Webhook, WebhookBody, WebhookInput> & {
  start(id: string, acting: Acting): Promise<Webhook>;
  stop(id: string, acting: Acting): Promise<Webhook>;
  /** Sends records again whose events happened from `since` on and before `until`. Returns how many. */
  replay(id: string, input: ReplayRequest, acting: Acting): Promise<{ readonly replayed: number }>;
  readonly keyOrder: KeyOrder;
  /** Acknowledges records of a webhook in mode `pull`. */
  readonly acknowledge: Acknowledge;
  /** Judges the latest events of the webhook's types by a filter. Changes nothing. */
  previewFilter(id: string, input: FilterPreviewInput): Promise<FilterPreview>;
};

type Dependencies = {
  readonly store: CustomerVerbs & DeliveryVerbs & EventVerbs & WebhookVerbs & Pick<Store, 'customerId'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wake: () => void;
  readonly acknowledged?: ObserveAcknowledged;
};

export function createWebhooks(dependencies: Dependencies): Webhooks {
  const { store, clock, ids, wake } = dependencies;
  const administration = administer<Webhook, WebhookBody, WebhookInput>(
    {
      name: 'webhook',
      store: store.webhooks,
      owners: store,
      limited: 'webhooks',
      reader: webhookReader,
      writable,
      shown: viewWebhook,
      build: async (input, before, stamp, patch) => {
        const given = isObject(patch) ? patch.signature : input.signature;
        const signature = input.signature === null ? null : signatureOf(input.signature, given ?? {});
        const endpoint = await refuseBrokenRules(store, input, signature, before, clock());
        const record = {
          ...configurationOf(input, signature, stamp),
          progress: before?.progress ?? (await newProgress(store, input, stamp.createdAt, ids)),
        };
        return { record, first: endpoint === null ? [] : [store.endpoints.unchanged(endpoint)] };
      },
      audited: ({ progress, retryPolicy, maxAttempts, retryDelaysSeconds, ...webhook }) => ({
        ...webhook,
        'retry.policy': retryPolicy,
        'retry.maxAttempts': maxAttempts,
        'retry.delaysSeconds': retryDelaysSeconds,
      }),
    },
    { clock, ids },
  );
  const { get } = administration;
  const setState = (id: string, verb: Verb, acting: Acting): Promise<Webhook> =>
    retryStale(async () => changeState(dependencies, await get(id), verb, acting));
  return {
    ...administration,
    patch: async (id, patch, acting) => {
      const webhook = await administration.patch(id, patch, acting);
      wake();
      return webhook;
    },
    previewFilter: async (id, input) => previewFilter(store, await get(id), input),
    acknowledge: createAcknowledge(dependencies, get),
    keyOrder: createKeyOrder(dependencies, get),
    start: (id, acting) => setState(id, 'start', acting),
    stop: (id, acting) => setState(id, 'stop', acting),
    replay: async (id, input, acting) => {
      const webhook = await get(id);
      refusePulledReplay(webhook.mode);
      const now = clock();
      const { range, asked } = await askedReplay(store, webhook, input);
      if (range === null) return { replayed: 0 };
      const replayed = await store.replays.replay(
        { ...range, now, newId: ids.uuid },
        auditEntry(ids, acting.actor, 'webhook.replay', `webhook:${id}`, {
          at: now,
          customerId: webhook.customerId,
          changes: { records: { from: null, to: asked } },
        }),
      );
      wake();
      return { replayed };
    },
  };
}

type Verb = 'start' | 'stop';

/** Starts or stops a webhook. Throws `StaleWrite` if it changed since it was read. */
async function changeState(
  { store, clock, ids, wake }: Dependencies,
  webhook: Webhook,
  verb: Verb,
  acting: Acting,
): Promise<Webhook> {
  refuseChanged(acting.ifMatch, viewWebhook(webhook), 'webhook');
  const { id, progress } = webhook;
  const now = clock();
  const entry = (changes: AuditEntry['changes']): AuditEntry =>
    auditEntry(ids, acting.actor, `webhook.${verb}`, `webhook:${id}`, {
      at: now,
      customerId: webhook.customerId,
      changes,
    });
  // A person's stop also counts for a webhook that the service would start again automatically.
  if (verb === 'stop' && isStoppedFor(progress, 'endpoint_disabled', 'customer_inactive')) {
    const after: Progress = { ...progress, stateReason: 'stopped_by_administrator' };
    const reason = { from: progress.stateReason, to: after.stateReason };
    await store.webhooks.setState(stateChange(webhook, after, ids), entry({ stateReason: reason }), webhook);
    return { ...webhook, progress: after };
  }
  if (isRunnable(progress.state) === (verb === 'start') && progress.state !== 'failed') return webhook;
  if (verb === 'start') await refuseStart(store, webhook, now);
  const after =
    verb === 'start'
      ? startedProgress(webhook, { sessionId: ids.uuid(), now })
      : stoppedProgress(progress, 'stop', 'stopped_by_administrator', now);
  const state = { from: progress.state, to: after.state };
  await store.webhooks.setState(stateChange(webhook, after, ids), entry({ state }), webhook);
  // Batches that waited for a retry are due now.
  if (verb === 'start') await store.webhooks.resume(progress.webhookNumber, now);
  wake();
  return { ...webhook, progress: after };
}

function writable(webhook: Webhook): WebhookInput {
  const { progress, id, createdAt, updatedAt, eventTypes, customHeaders, ...others } = webhook;
  const { retryPolicy, maxAttempts, retryDelaysSeconds, ...rest } = others;
  return {
    ...rest,
    eventTypes: [...eventTypes],
    customHeaders: customHeaders.map((header) => ({ ...header })),
    retry: viewRetry({ retryPolicy, maxAttempts, retryDelaysSeconds }),
  };
}

/** The settings that an input asks for. They may break rules beyond the schema. */
export function configurationOf(
  { retry, ...input }: WebhookInput,
  signature: SignatureTemplate | null,
  stamp: Stamp,
): Omit<Webhook, 'progress'> {
  return { ...stamp, ...input, signature, ...retrySettings(retry) };
}

/**
 * The progress of a new webhook. The store gives it its number. One in mode `pull` waits for no endpoint, so it starts immediately, or as
 * soon as its customer is active.
 */
async function newProgress(
  store: Dependencies['store'],
  { mode, customerId }: Pick<WebhookInput, 'mode' | 'customerId'>,
  now: number,
  ids: Ids,
): Promise<Progress> {
  const isSuspended = mode === 'pull' && (await suspendedCustomer(store, customerId)) !== null;
  const begun =
    mode === 'pull' && !isSuspended
      ? ({ state: 'started', sessionId: ids.uuid(), sessionAt: now } as const)
      : ({ state: 'stopped', sessionId: null, sessionAt: null } as const);
  return {
    ...HEALTHY,
    webhookNumber: 0,
    stateAt: now,
    ...begun,
    ...(isSuspended && { stateReason: 'customer_inactive' }),
    nextOffset: 0,
    cursorOffset: 0,
    sentAt: null,
  };
}

/**
 * A webhook with an expired key cannot start or subscribe to other events. Its other settings can change. Returns the endpoint with which
 * the settings were checked.
 */
async function refuseBrokenRules(
  store: Dependencies['store'],
  input: WebhookInput,
  signature: SignatureTemplate | null,
  before: Webhook | null,
  now: number,
): Promise<Endpoint | null> {
  const { customerId, endpointId, eventTypes: patterns, encryptionKeyName } = input;
  const endpoint = endpointId === null ? null : await store.endpoints.get(endpointId);
  const isOwn = endpointId === null || (endpoint !== null && endpoint.customerId === customerId);
  const allTypes = await store.eventTypes.all();
  const types = typesFor(customerId, allTypes);
  const key = encryptionKeyName === null ? null : await store.keys.getByName(customerId, encryptionKeyName);
  const need = encryptionKeyName === null ? encryptionNeed(patterns, types, store.customerId === null) : null;
  const isAsBefore =
    before !== null && before.encryptionKeyName === encryptionKeyName && isDeepStrictEqual(before.eventTypes, patterns);
  const problems = [
    ...modeProblems(input, before?.mode ?? null),
    ...formatProblems(input),
    ...(isOwn ? [] : [{ field: 'endpointId', problem: 'is not the id of an endpoint' }]),
    ...patternProblems(input, before, types, allTypes),
    ...keyProblems(input, need, key !== null && isExpired(key, now) && !isAsBefore ? 'expired' : key),
    ...standardProblems(input, need, endpoint),
    ...headerProblems(input.customHeaders, signature, endpoint),
  ];
  if (problems.length > 0) throw refuseFields(problems);
  return endpoint;
}

/** The webhook's owner may get events of `types`. */
function patternProblems(
  { customerId, eventTypes: patterns }: WebhookInput,
  before: Webhook | null,
  types: readonly EventType[],
  allTypes: readonly EventType[],
): FieldProblem[] {
  return [...patterns.entries()].flatMap(([at, pattern]) => {
    // A type may stop being public while webhooks of customers name it. They get no more of its events.
    const isKnown = pattern.endsWith('*') || before?.eventTypes.includes(pattern) === true;
    if (isKnown || matchingTypes(pattern, types).length > 0) return [];
    const isInternal = matchingTypes(pattern, allTypes).length > 0;
    const problem = isInternal
      ? 'is not public, and customers get only public event types'
      : noSuchType(pattern, customerId ?? null);
    return [{ field: `eventTypes[${at}]`, problem }];
  });
}

/** `need`: the events that must be encrypted, if no key is named. */
function keyProblems(
  { encryptionKeyName }: WebhookInput,
  need: string | null,
  key: PgpKey | 'expired' | null,
): FieldProblem[] {
  const field = 'encryptionKeyName';
  if (encryptionKeyName === null)
    return need === null ? [] : [{ field, problem: `is required: ${need} must be encrypted` }];
  if (key === null) return [{ field, problem: 'is not the name of a key' }];
  return key === 'expired' ? [{ field, problem: 'names a key that has expired' }] : [];
}

/** A webhook that signs as Standard Webhooks encrypts nothing (contract §5.7). */
function standardProblems(input: WebhookInput, need: string | null, endpoint: Endpoint | null): FieldProblem[] {
  if (!signsStandard(input) || input.mode !== 'push') return [];
  const field = input.standardWebhooks ? 'standardWebhooks' : 'format';
  const unencrypted =
    need === null ? [] : [{ field, problem: `cannot be combined with ${need}, which must be encrypted` }];
  const { contentEncoding = null, secret, nextSecret } = endpoint ?? {};
  const secrets = [secret, nextSecret].flatMap((one) => one?.reveal() ?? []);
  const { encryptionKeyName } = input;
  return [...unencrypted, ...standardWebhooksProblems({ field, encryptionKeyName, contentEncoding, secrets })];
}

async function suspendedCustomer(
  store: Dependencies['store'],
  customerId: string | null | undefined,
): Promise<Customer | null> {
  const customer = customerId == null ? null : await store.customers.get(customerId);
  return customer?.active === false ? customer : null;
}

async function refuseStart(store: Dependencies['store'], webhook: Webhook, now: number): Promise<void> {
  const customer = await suspendedCustomer(store, webhook.customerId);
  if (customer !== null) {
    throw new Refusal('invalid_state', `the webhook cannot start: the customer ${customer.name} is suspended`);
  }
  const { endpointId } = webhook;
  const endpoint = endpointId === null ? null : await store.endpoints.get(endpointId);
  if (endpointId !== null && endpoint?.enabled !== true) {
    const mustVerify = endpoint != null && isUnverified(endpoint);
    const named = { id: endpointId, name: endpoint?.name ?? '' };
    const reason = mustVerify ? 'not verified' : 'not enabled';
    throw new Refusal('invalid_state', `the webhook cannot start: its endpoint is ${reason}`, {
      ending: mustVerify ? verifyFirst(named) : enableFirst(named),
    });
  }
  const key =
    webhook.encryptionKeyName === null
      ? null
      : await store.keys.getByName(webhook.customerId, webhook.encryptionKeyName);
  if (key !== null && isExpired(key, now)) {
    throw new Refusal('invalid_state', `the webhook cannot start: its key ${key.name} has expired`);
  }
}
