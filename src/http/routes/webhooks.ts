/** Endpoints, keys, event types and webhooks (contract §4.2). */
import type { TestDelivery } from '../../delivery/trials/test-delivery.ts';
import type { Endpoint } from '../../domain/endpoint.ts';
import type { PgpKey } from '../../domain/webhook.ts';
import { STATE_REASONS } from '../../domain/webhook-states.ts';
import { eventTypePatch, eventTypeReader, eventTypeView, viewEventType } from '../../events/event-types.ts';
import type { Clock } from '../../kernel/ids.ts';
import { validate } from '../../kernel/validation.ts';
import type { Services, SharedServices } from '../../services/services.ts';
import { attemptView, viewAttempt } from '../../webhooks/deliveries.ts';
import {
  ENDPOINT_LIST,
  endpointPatch,
  endpointReader,
  endpointView,
  endpointWithSecret,
  rotateApiKeyInput,
  rotateAuthenticationInput,
  rotateInput,
  viewEndpoint,
} from '../../webhooks/endpoint-schema.ts';
import type { WithNewSecret } from '../../webhooks/endpoints.ts';
import { KEY_LIST, keyReader, keyView, viewKey } from '../../webhooks/keys.ts';
import { signaturePreviewInput, signaturePreviewView } from '../../webhooks/signature-schema.ts';
import {
  filterPreviewInput,
  filterPreviewView,
  replayedView,
  replayInput,
  testInput,
  viewWebhook,
  WEBHOOK_LIST,
  webhookReader,
  webhookView,
} from '../../webhooks/webhook-schema.ts';
import { changed, ETAG, requireMatch } from '../conditional.ts';
import { IDEMPOTENCY_KEY, type Once } from '../once.ts';
import { actionRoute, changeRoutes, okReply, readRoutes, resourceRoutes } from '../resource-routes.ts';
import { jsonBody, type Route, requireCaller } from '../route.ts';
import { keyOrderRoutes } from './key-order.ts';

type Dependencies = {
  readonly services: Pick<SharedServices, 'endpoints' | 'keys' | 'eventTypes' | 'webhooks' | 'previewSignature'>;
  readonly clock: Clock;
  readonly testDelivery: TestDelivery;
  readonly once: Once;
};

/** Replies of routes that challenge an endpoint. */
const UNCHALLENGED: Route['replies'] = {
  503: { description: 'The service could not challenge it; nothing was changed' },
};

const EVENT_TYPE = { path: 'event-types', noun: 'event type', view: eventTypeView, show: viewEventType } as const;

/** Event types belong to the operator. */
export function eventTypeChangeRoutes({
  eventTypes,
  once,
}: Pick<Services, 'eventTypes'> & { readonly once: Once }): Route<'operator'>[] {
  return changeRoutes({
    ...EVENT_TYPE,
    for: 'operator',
    reader: eventTypeReader,
    patchInput: eventTypePatch,
    administration: eventTypes,
    showMade: (eventType) => ({ shown: viewEventType(eventType) }),
    once,
  });
}

export function webhookRoutes(dependencies: Dependencies): Route<'both'>[] {
  const { services, clock, once } = dependencies;
  const showKey = (key: PgpKey) => viewKey(key, clock());
  return [
    ...endpointRoutes(dependencies),
    ...rotationRoutes(dependencies),
    ...resourceRoutes({
      for: 'both',
      path: 'keys',
      noun: 'key',
      reader: keyReader,
      view: keyView,
      administration: services.keys,
      show: showKey,
      list: KEY_LIST,
      showMade: (key) => ({ shown: showKey(key) }),
      once,
    }),
    ...readRoutes({ ...EVENT_TYPE, for: 'both', administration: services.eventTypes }),
    ...webhookResourceRoutes(dependencies),
    ...previewRoutes(dependencies),
    replayRoute(services.webhooks),
    ...keyOrderRoutes(services.webhooks),
  ];
}

function endpointRoutes({ services: { endpoints }, clock, once }: Dependencies): Route<'both'>[] {
  const showEndpoint = (endpoint: Endpoint) => viewEndpoint(endpoint, clock());
  return [
    ...resourceRoutes({
      for: 'both',
      path: 'endpoints',
      noun: 'endpoint',
      reader: endpointReader,
      patchInput: endpointPatch,
      view: endpointView,
      createdView: endpointWithSecret,
      changeReplies: UNCHALLENGED,
      administration: endpoints,
      show: showEndpoint,
      list: ENDPOINT_LIST,
      showMade: (endpoint) => ({ shown: showEndpoint(endpoint), secrets: { secret: endpoint.secret.reveal() } }),
      once,
    }),
    actionRoute('endpoints', 'verify', 'Verify an endpoint', {
      for: 'both',
      operationId: 'verifyEndpoint',
      description: 'Sends a challenge now.',
      replies: {
        200: { description: 'The endpoint with the result in `lastVerification`', schema: endpointView, headers: ETAG },
        ...UNCHALLENGED,
      },
      respond: async (_, id, acting) => changed({ shown: showEndpoint(await endpoints.verify(id, acting)) }),
    }),
  ];
}

/** Replaces the credentials of an endpoint. */
function rotationRoutes({ services: { endpoints }, clock, once }: Dependencies): Route<'both'>[] {
  const showEndpoint = (endpoint: Endpoint) => viewEndpoint(endpoint, clock());
  return [
    actionRoute('endpoints', 'rotate-secret', 'Create a new secret for an endpoint', {
      for: 'both',
      operationId: 'rotateEndpointSecret',
      description: 'The response shows the new secret. It is not shown again.',
      headers: IDEMPOTENCY_KEY,
      body: jsonBody(rotateInput, { optional: true }),
      replies: { 200: { description: 'The endpoint with its new secret', schema: endpointWithSecret, headers: ETAG } },
      respond: (call, id, acting) =>
        once<WithNewSecret>(
          call,
          ({ endpoint, newSecret }) =>
            changed({ shown: showEndpoint(endpoint), secrets: { secret: newSecret.reveal() } }),
          (beside) => endpoints.rotateSecret(id, validate(rotateInput, call.body), acting, beside),
        ),
    }),
    actionRoute('endpoints', 'rotate-api-key', 'Create a new API key for an endpoint', {
      for: 'both',
      operationId: 'rotateEndpointApiKey',
      headers: IDEMPOTENCY_KEY,
      body: jsonBody(rotateApiKeyInput, { optional: true }),
      replies: { 200: { description: 'The endpoint', schema: endpointView, headers: ETAG } },
      respond: (call, id, acting) =>
        once<Endpoint>(
          call,
          (endpoint) => changed({ shown: showEndpoint(endpoint) }),
          (beside) => endpoints.rotateApiKey(id, validate(rotateApiKeyInput, call.body), acting, beside),
        ),
    }),
    actionRoute('endpoints', 'rotate-authentication', 'Replace the authentication of an endpoint', {
      for: 'both',
      operationId: 'rotateEndpointAuthentication',
      headers: IDEMPOTENCY_KEY,
      body: jsonBody(rotateAuthenticationInput),
      replies: { 200: { description: 'The endpoint', schema: endpointView, headers: ETAG } },
      respond: (call, id, acting) =>
        once<Endpoint>(
          call,
          (endpoint) => changed({ shown: showEndpoint(endpoint) }),
          (beside) =>
            endpoints.rotateAuthentication(id, validate(rotateAuthenticationInput, call.body), acting, beside),
        ),
    }),
  ];
}

const SWITCHES = [
  {
    verb: 'start',
    summary: 'Start a webhook',
    description: 'It is `running` after its first success.',
    example: { state: 'started', sessionId: '01a1fc79-c080-7000-8000-000000000010' },
  },
  {
    verb: 'stop',
    summary: 'Stop a webhook',
    description: 'Its records wait until it is started.',
    example: { stateReason: 'stopped_by_administrator', stateDescription: STATE_REASONS.stopped_by_administrator },
  },
] as const;

/** Webhooks as a resource, with their start and stop. */
function webhookResourceRoutes({ services: { webhooks }, once }: Dependencies): Route<'both'>[] {
  return [
    ...resourceRoutes({
      for: 'both',
      path: 'webhooks',
      noun: 'webhook',
      reader: webhookReader,
      view: webhookView,
      administration: webhooks,
      show: viewWebhook,
      list: WEBHOOK_LIST,
      showMade: (webhook) => ({ shown: viewWebhook(webhook) }),
      once,
    }),
    ...SWITCHES.map(({ verb, summary, description, example }) =>
      actionRoute('webhooks', verb, summary, {
        for: 'both',
        operationId: `${verb}Webhook`,
        description,
        replies: { 200: { description: 'The webhook as it is now', schema: webhookView, headers: ETAG, example } },
        respond: async (_, id, acting) => changed({ shown: viewWebhook(await webhooks[verb](id, acting)) }),
      }),
    ),
  ];
}

/** Tries a webhook out. Nothing of it changes. */
function previewRoutes({ services: { webhooks, previewSignature }, testDelivery }: Dependencies): Route<'both'>[] {
  return [
    actionRoute('webhooks', 'test', 'Send a test event', {
      for: 'both',
      operationId: 'testWebhook',
      description: 'Sends a `webhook.test` record, or the sample of an event type, and answers with the attempt.',
      body: jsonBody(testInput, { optional: true }),
      replies: {
        200: { description: 'The attempt, delivered or not', schema: attemptView },
        429: { description: 'Too many tests of the customer are in progress; see `Retry-After`' },
        503: { description: 'Too many tests are in progress; see `Retry-After`' },
      },
      respond: async (call, id) => {
        const { eventType } = validate(testInput, call.body);
        const webhook = await webhooks.get(id);
        requireMatch(call, viewWebhook(webhook), 'webhook');
        const attempt = await testDelivery(id, requireCaller(call).userId, eventType);
        return okReply(viewAttempt(attempt, webhook.customerId));
      },
    }),
    actionRoute('webhooks', 'filter-preview', 'Try a filter', {
      for: 'both',
      operationId: 'previewWebhookFilter',
      description: 'Judges the latest events of the types of the webhook. Changes nothing.',
      promisesNothing: true,
      body: jsonBody(filterPreviewInput),
      replies: {
        200: { description: 'Which of them would pass', schema: filterPreviewView },
        429: { description: 'Too many previews of the customer are in progress; see `Retry-After`' },
      },
      respond: async (call, id) => {
        requireMatch(call, viewWebhook(await webhooks.get(id)), 'webhook');
        return okReply(await webhooks.previewFilter(id, validate(filterPreviewInput, call.body)));
      },
    }),
    actionRoute('webhooks', 'signature-preview', 'Try a signature', {
      for: 'both',
      operationId: 'previewWebhookSignature',
      description: 'Signs a sample by the template of the webhook. Sends nothing.',
      promisesNothing: true,
      body: jsonBody(signaturePreviewInput, { optional: true }),
      replies: { 200: { description: 'The signed bytes and the headers', schema: signaturePreviewView } },
      respond: async (call, id) => {
        requireMatch(call, viewWebhook(await webhooks.get(id)), 'webhook');
        return okReply(await previewSignature(id, validate(signaturePreviewInput, call.body)));
      },
    }),
  ];
}

function replayRoute(webhooks: Dependencies['services']['webhooks']): Route<'both'> {
  return actionRoute('webhooks', 'replay', 'Send records again', {
    for: 'both',
    operationId: 'replayWebhook',
    body: jsonBody(replayInput, { optional: true }),
    replies: { 200: { description: 'How many records are due again', schema: replayedView } },
    respond: async (call, id, acting) => {
      requireMatch(call, viewWebhook(await webhooks.get(id)), 'webhook');
      return okReply(await webhooks.replay(id, validate(replayInput, call.body), acting));
    },
  });
}
