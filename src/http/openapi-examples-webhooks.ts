/** The examples of everything on the way out: endpoints, keys, event types, webhooks, events, deliveries. */

import type { ErasedView } from '../events/erase.ts';
import type { EventTypeView } from '../events/event-types.ts';
import type { AcceptedView } from '../events/publish.ts';
import type { AttemptView, DeliveryView } from '../webhooks/deliveries.ts';
import type { EndpointView } from '../webhooks/endpoint-schema.ts';
import type { KeyView } from '../webhooks/keys.ts';
import type { WebhookView } from '../webhooks/view.ts';
import { AT, id, stamps } from './openapi-example-values.ts';

const ENDPOINT_SECRET = 'ZXhhbXBsZSBzZWNyZXQsIDMyIGJ5dGVzIGluIGFsbC4=';

const endpointInput = {
  name: 'Payroll hooks',
  url: 'https://hooks.company.example/payroll',
  contentEncoding: 'gzip',
  tokenChallenge: true,
} as const;

const endpoint: EndpointView = {
  id: id(6),
  ...endpointInput,
  apiKey: '00112233445566778899aabbccddeeff',
  verified: true,
  enabled: true,
  oauth: null,
  clientCertificate: null,
  secretCreatedAt: stamps.createdAt,
  secretActivatesAt: null,
  secretOverlapEndsAt: null,
  nextApiKey: null,
  apiKeyActivatesAt: null,
  lastVerification: { at: AT, verified: true, responseStatus: 200, responseBody: null, error: null },
  ...stamps,
};

const keyInput = {
  name: 'payroll-2026',
  publicKey: '-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nxjMEaR5l…\n-----END PGP PUBLIC KEY BLOCK-----\n',
};

const key: KeyView = {
  id: id(7),
  ...keyInput,
  fingerprint: '0F1E2D3C4B5A69788796A5B4C3D2E1F001234567',
  algorithm: 'curve25519',
  expiresAt: '2028-11-21T05:00:00.000Z',
  expired: false,
  ...stamps,
};

const eventTypeInput = {
  name: 'payslip.published',
  description: 'A payslip can be fetched.',
  encryptionRequired: true,
  dataSchema: { type: 'object', required: ['payslipId'], properties: { payslipId: { type: 'string' } } },
};

const eventType: EventTypeView = { id: id(8), ...eventTypeInput, builtIn: false, ...stamps };

const webhookInput = {
  name: 'Employees to payroll',
  endpointId: endpoint.id,
  eventTypes: ['employee.*', eventType.name],
  customHeaders: [{ name: 'x-tenant', value: 'company' }],
  encryptionKeyName: key.name,
  retry: { policy: 'exponential', maxAttempts: 20 },
} as const;

const webhook: WebhookView = {
  id: id(9),
  ...webhookInput,
  eventTypes: [...webhookInput.eventTypes],
  customHeaders: [...webhookInput.customHeaders],
  ordered: false,
  maxBatchRecords: 100,
  maxRecordsPerSecond: null,
  standardWebhooks: false,
  heartbeatSeconds: 300,
  timeoutSeconds: 15,
  state: 'running',
  stateReason: null,
  stateDescription: null,
  stateChangedAt: AT,
  sessionId: id(10),
  ...stamps,
};

const event = {
  type: eventType.name,
  data: { payslipId: '2026-11/HR-1042' },
  subject: id(4),
  idempotencyKey: 'payslip-2026-11-HR-1042',
};

const accepted: AcceptedView = { accepted: 1, duplicates: 0, events: [{ id: id(11), duplicate: false }] };

const erased: ErasedView = {
  id: id(14),
  subject: event.subject,
  state: 'finished',
  events: 12,
  deliveriesDiscarded: 1,
  attempts: 11,
  startedAt: AT,
  finishedAt: AT,
  backups: `Backups and copies of the database made before ${AT} still hold the data and are out of reach of this service.`,
};

const attempt: AttemptView = {
  id: id(12),
  kind: 'delivery',
  attemptNumber: 1,
  startedAt: AT,
  batchId: id(13),
  requestHeaders: { 'content-type': 'application/json', 'x-api-key': '[secret]', 'x-tenant': 'company' },
  responseStatus: 204,
  responseHeaders: { date: 'Sat, 21 Nov 2026 05:00:00 GMT' },
  responseBody: '',
  delivered: true,
  errorClass: null,
  error: null,
  advice: null,
  timings: { dnsMs: 2, connectMs: 11, tlsMs: 14, firstByteMs: 23, totalMs: 51 },
};

const delivery: DeliveryView = {
  id: '01a1fc79-c080-7000-8001-000000000000',
  webhookId: webhook.id,
  eventId: id(11),
  eventType: eventType.name,
  offset: 0,
  state: 'delivered',
  attemptCount: 1,
  nextAttemptAt: null,
  settledAt: AT,
  ...stamps,
};

export const WEBHOOK_EXAMPLES: Readonly<Record<string, unknown>> = {
  EndpointInput: endpointInput,
  EndpointPatch: { url: 'https://hooks.company.example/payroll/v2', contentEncoding: null },
  Endpoint: endpoint,
  EndpointWithSecret: { ...endpoint, secret: ENDPOINT_SECRET },
  RotateSecretInput: { activateAfterSeconds: 3600, overlapSeconds: 3600 },
  RotateApiKeyInput: { activateAfterSeconds: 3600 },
  KeyInput: keyInput,
  KeyPatch: { name: 'payroll' },
  Key: key,
  EventTypeInput: eventTypeInput,
  EventTypePatch: { description: 'A payslip can be fetched by its employee.', dataSchema: null },
  EventType: eventType,
  WebhookInput: webhookInput,
  WebhookPatch: { maxRecordsPerSecond: 50, retry: { maxAttempts: 10 } },
  Webhook: webhook,
  ReplayInput: { since: AT, states: ['dead'] },
  Replayed: { replayed: 3 },
  EventInput: event,
  EventBatchInput: { events: [event] },
  Accepted: accepted,
  EraseInput: { subject: event.subject },
  Erased: erased,
  Attempt: attempt,
  Delivery: delivery,
  DeliveryWithAttempts: { ...delivery, attempts: [attempt] },
};
