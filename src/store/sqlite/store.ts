/** The store: one record of verbs per table, each verb one transaction. No transaction crosses this border. */
import type { Ids } from '../../kernel/ids.ts';
import type { Vault } from '../../kernel/vault.ts';
import { watchAccess } from './access/access-version.ts';
import { type ApplicationStore, applicationStore } from './access/applications.ts';
import { type InvitationStore, invitationStore } from './access/invitations.ts';
import { type KeptReplyStore, keptReplyStore } from './access/kept-replies.ts';
import { type PasskeyStore, passkeyStore } from './access/passkeys.ts';
import { type ProductStore, productStore } from './access/products.ts';
import { type RegistryStore, registryStore } from './access/registry.ts';
import { type SessionStore, sessionStore } from './access/sessions.ts';
import { type TokenStore, tokenStore } from './access/tokens.ts';
import { type UserStore, userStore } from './access/users.ts';
import { type AuditStore, auditStore } from './audit.ts';
import { type ClockLeadStore, clockLeadStore } from './clock-lead.ts';
import { type AttemptStore, attemptStore } from './delivery/attempts.ts';
import { type DeliveryStore, deliveryStore } from './delivery/deliveries.ts';
import { type DispatchStore, dispatchStore } from './delivery/dispatch.ts';
import { type QueueStore, queueStore } from './delivery/queues.ts';
import { type RemovalStore, removalStore } from './delivery/removal.ts';
import { type ReplayStore, replayStore } from './delivery/replays.ts';
import { type SettlementStore, settlementStore } from './delivery/settlement.ts';
import type { Database } from './driver/database.ts';
import { type EmployeeStore, employeeStore } from './employees.ts';
import { type ErasureStore, erasureStore } from './erasure.ts';
import { type EventStore, eventStore } from './events.ts';
import { type ExpiryStore, expiryStore } from './expiry.ts';
import { type FigureStore, figureStore } from './figures.ts';
import { type OverviewStore, overviewStore } from './overview.ts';
import { type RetentionStore, retentionStore } from './retention.ts';
import { type SettingStore, settingStore } from './settings.ts';
import { type DirectoryStore, directoryStore } from './webhooks/directory.ts';
import { type EndpointStore, endpointStore } from './webhooks/endpoints.ts';
import { type EventTypeStore, eventTypeStore } from './webhooks/event-types.ts';
import { type KeyStore, keyStore } from './webhooks/keys.ts';
import { type StateHistoryStore, stateHistoryStore } from './webhooks/state-history.ts';
import { type UseStore, useStore } from './webhooks/uses.ts';
import { type WebhookStore, webhookStore } from './webhooks/webhooks.ts';

export type Store = {
  readonly users: UserStore;
  readonly invitations: InvitationStore;
  readonly products: ProductStore;
  readonly applications: ApplicationStore;
  readonly tokens: TokenStore;
  readonly employees: EmployeeStore;
  readonly endpoints: EndpointStore;
  readonly keys: KeyStore;
  readonly keptReplies: KeptReplyStore;
  readonly eventTypes: EventTypeStore;
  readonly webhooks: WebhookStore;
  readonly events: EventStore;
  readonly dispatch: DispatchStore;
  readonly settlements: SettlementStore;
  readonly deliveries: DeliveryStore;
  readonly replays: ReplayStore;
  readonly attempts: AttemptStore;
  readonly audit: AuditStore;
  readonly settings: SettingStore;
  readonly sessions: SessionStore;
  readonly passkeys: PasskeyStore;
  readonly registry: RegistryStore;
  readonly retention: RetentionStore;
  readonly removals: RemovalStore;
  readonly erasures: ErasureStore;
  readonly expiry: ExpiryStore;
  readonly queues: QueueStore;
  readonly figures: FigureStore;
  readonly overview: OverviewStore;
  readonly directory: DirectoryStore;
  readonly uses: UseStore;
  readonly stateHistory: StateHistoryStore;
  readonly clockLead: ClockLeadStore;
};

export function createStore(database: Database, vault: Vault, ids: Ids): Store {
  const access = watchAccess(database);
  const { db, current } = access;
  return {
    users: userStore(db, ids),
    invitations: invitationStore(db),
    products: productStore(db),
    applications: applicationStore(db),
    tokens: tokenStore(db, current),
    employees: employeeStore(db),
    endpoints: endpointStore(db, vault),
    keys: keyStore(db),
    keptReplies: keptReplyStore(db, vault),
    eventTypes: eventTypeStore(db),
    webhooks: webhookStore(db),
    events: eventStore(db),
    dispatch: dispatchStore(db, vault),
    settlements: settlementStore(db),
    deliveries: deliveryStore(db),
    replays: replayStore(db),
    attempts: attemptStore(db),
    audit: auditStore(db),
    settings: settingStore(db, vault),
    sessions: sessionStore(db, access),
    passkeys: passkeyStore(db),
    registry: registryStore(db),
    retention: retentionStore(db),
    removals: removalStore(db),
    erasures: erasureStore(db),
    expiry: expiryStore(db),
    queues: queueStore(db),
    figures: figureStore(db),
    overview: overviewStore(db),
    directory: directoryStore(db, vault),
    uses: useStore(db),
    stateHistory: stateHistoryStore(db),
    clockLead: clockLeadStore(db),
  };
}
