/**
 * The exported types against the schemas that read and show the same: the type check of the tests fails if a field is missing on either
 * side or has another type.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type * as api from 'sallyport';
import type { z } from 'zod';
import type {
  ApplicationBody,
  ApplicationView,
  applicationWithSecret,
  regenerateInput,
} from '../../src/access/applications.ts';
import type { ProductBody, ProductView } from '../../src/access/products.ts';
import type { UserBody, UserView } from '../../src/access/users.ts';
import type { CustomerBody, CustomerView } from '../../src/customers/customers.ts';
import type { portalLinkInput, portalLinkView } from '../../src/customers/portal-links.ts';
import type { CustomerUsageView } from '../../src/customers/usage.ts';
import type { recordsInput } from '../../src/delivery/reads/records.ts';
import type { ErasedView, eraseInput } from '../../src/events/erase.ts';
import type { EventTypeBody, EventTypeView } from '../../src/events/event-types.ts';
import type { AcceptedView } from '../../src/events/publish.ts';
import type { BodyOf } from '../../src/resources/input.ts';
import type { acknowledgedView, acknowledgeInput } from '../../src/webhooks/acknowledge.ts';
import type { AttemptView, DeliveryView } from '../../src/webhooks/deliveries.ts';
import type {
  EndpointBody,
  EndpointView,
  endpointWithSecret,
  rotateApiKeyInput,
  rotateAuthenticationInput,
  rotateInput,
} from '../../src/webhooks/endpoint-schema.ts';
import type { KeyBody, KeyView } from '../../src/webhooks/keys.ts';
import type { signaturePreviewInput, signaturePreviewView } from '../../src/webhooks/signature-schema.ts';
import type {
  FilterPreview,
  filterPreviewInput,
  replayedView,
  replayInput,
  WebhookBody,
  WebhookView,
} from '../../src/webhooks/webhook-schema.ts';

/** Every field required, at any depth, so that the fields themselves are compared. */
type Whole<T> = T extends object ? { readonly [Name in keyof T]-?: Whole<Exclude<T[Name], undefined>> } : T;
/** `Given` can be passed where `Taken` is expected, and neither has a field that the other lacks. */
type Fits<Given, Taken> = [Whole<Given>, Whole<Taken>, Given] extends [Whole<Taken>, Whole<Given>, Taken]
  ? true
  : false;
type Same<A, B> = [Fits<A, B>, Fits<B, A>] extends [true, true] ? true : false;

type Inputs = [
  Same<api.CustomerInput, CustomerBody>,
  Same<api.PortalLinkInput, z.input<typeof portalLinkInput>>,
  Same<api.UserInput, UserBody>,
  Same<api.ApplicationInput, ApplicationBody>,
  Same<api.RegenerateSecretInput, z.input<typeof regenerateInput>>,
  Same<api.ProductInput, ProductBody>,
  Same<api.EventTypeInput, EventTypeBody>,
  Same<api.EndpointInput, EndpointBody>,
  Same<api.RotateSecretInput, z.input<typeof rotateInput>>,
  Same<api.RotateApiKeyInput, z.input<typeof rotateApiKeyInput>>,
  Same<api.RotateAuthenticationInput, z.input<typeof rotateAuthenticationInput>>,
  Same<api.KeyInput, KeyBody>,
  Same<api.WebhookInput, WebhookBody>,
  Same<api.ReplayInput, Readonly<Omit<z.input<typeof replayInput>, 'states'>> & Pick<api.ReplayInput, 'states'>>,
  Same<api.FilterPreviewInput, z.input<typeof filterPreviewInput>>,
  Same<api.SignaturePreviewInput, BodyOf<typeof signaturePreviewInput>>,
  Same<api.RecordsQuery, z.input<typeof recordsInput>>,
  Same<api.AcknowledgeInput, z.input<typeof acknowledgeInput>>,
  Same<api.ErasureInput, z.input<typeof eraseInput>>,
];
type Records = [
  Fits<CustomerView, api.Customer>,
  Fits<z.infer<typeof portalLinkView>, api.PortalLink>,
  Fits<CustomerUsageView, api.CustomerUsage>,
  Fits<UserView, api.User>,
  Fits<ApplicationView, api.Application>,
  Fits<z.infer<typeof applicationWithSecret>, api.ApplicationWithSecret>,
  Fits<ProductView, api.Product>,
  Fits<EventTypeView, api.EventType>,
  Fits<EndpointView, api.Endpoint>,
  Fits<z.infer<typeof endpointWithSecret>, api.EndpointWithSecret>,
  Fits<KeyView, api.Key>,
  Fits<WebhookView, api.Webhook>,
  Fits<z.infer<typeof replayedView>, api.Replayed>,
  Fits<z.infer<typeof signaturePreviewView>, api.SignaturePreview>,
  Fits<FilterPreview, api.FilterPreview>,
  Fits<z.infer<typeof acknowledgedView>, api.Acknowledged>,
  Fits<DeliveryView, api.Delivery>,
  Fits<AttemptView, api.Attempt>,
  Fits<AcceptedView, api.Published>,
  Fits<ErasedView, api.Erasure>,
];
type AllTrue<List extends readonly unknown[]> = List extends readonly true[] ? true : List;

it('the exported types have the fields of the schemas', () => {
  const inputs: AllTrue<Inputs> = true;
  const records: AllTrue<Records> = true;
  assert.deepEqual([inputs, records], [true, true]);
});
