/** The store: one record of verbs per table, each verb one transaction. No transaction crosses this border. */
import type { Ids } from '../ids.ts';
import { type ApplicationStore, applicationStore } from './applications.ts';
import { type AttemptStore, attemptStore } from './attempts.ts';
import { type AuditStore, auditStore } from './audit.ts';
import type { Database } from './database.ts';
import { type DeliveryStore, deliveryStore } from './deliveries.ts';
import { type DispatchStore, dispatchStore } from './dispatch.ts';
import { type EmployeeStore, employeeStore } from './employees.ts';
import { type EndpointStore, endpointStore } from './endpoints.ts';
import { type ErasureStore, erasureStore } from './erasure.ts';
import { type EventTypeStore, eventTypeStore } from './event-types.ts';
import { type EventStore, eventStore } from './events.ts';
import { type ExpiryStore, expiryStore } from './expiry.ts';
import { type InvitationStore, invitationStore } from './invitations.ts';
import { type KeyStore, keyStore } from './keys.ts';
import { type ProductStore, productStore } from './products.ts';
import { type QueueStore, queueStore } from './queues.ts';
import { type RemovalStore, removalStore } from './removal.ts';
import { type RetentionStore, retentionStore } from './retention.ts';
import { type SettingStore, settingStore } from './settings.ts';
import { type SettlementStore, settlementStore } from './settlement.ts';
import { type TokenStore, tokenStore } from './tokens.ts';
import { type UserStore, userStore } from './users.ts';
import type { Vault } from './vault.ts';
import { type WebhookStore, webhookStore } from './webhooks.ts';

export type Store = {
  readonly users: UserStore;
  readonly invitations: InvitationStore;
  readonly products: ProductStore;
  readonly applications: ApplicationStore;
  readonly tokens: TokenStore;
  readonly employees: EmployeeStore;
  readonly endpoints: EndpointStore;
  readonly keys: KeyStore;
  readonly eventTypes: EventTypeStore;
  readonly webhooks: WebhookStore;
  readonly events: EventStore;
  readonly dispatch: DispatchStore;
  readonly settlements: SettlementStore;
  readonly deliveries: DeliveryStore;
  readonly attempts: AttemptStore;
  readonly audit: AuditStore;
  readonly settings: SettingStore;
  readonly retention: RetentionStore;
  readonly removals: RemovalStore;
  readonly erasures: ErasureStore;
  readonly expiry: ExpiryStore;
  readonly queues: QueueStore;
};

export function createStore(db: Database, vault: Vault, ids: Ids): Store {
  return {
    users: userStore(db, ids),
    invitations: invitationStore(db),
    products: productStore(db),
    applications: applicationStore(db),
    tokens: tokenStore(db),
    employees: employeeStore(db),
    endpoints: endpointStore(db, vault),
    keys: keyStore(db),
    eventTypes: eventTypeStore(db),
    webhooks: webhookStore(db),
    events: eventStore(db),
    dispatch: dispatchStore(db, vault),
    settlements: settlementStore(db),
    deliveries: deliveryStore(db),
    attempts: attemptStore(db),
    audit: auditStore(db),
    settings: settingStore(db, vault),
    retention: retentionStore(db),
    removals: removalStore(db),
    erasures: erasureStore(db),
    expiry: expiryStore(db),
    queues: queueStore(db),
  };
}
