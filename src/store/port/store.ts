/** The store: one record of verbs per table, each verb one transaction. No transaction crosses this border. */
import type {
  ApplicationStore,
  ApplicationUseStore,
  InvitationStore,
  PasskeyStore,
  ProductStore,
  SessionStore,
  TokenStore,
  UserStore,
} from './access.ts';
import type { AuditStore } from './audit.ts';
import type { CustomerStore, PortalLinkStore } from './customers.ts';
import type { Answer } from './database.ts';
import type { AttemptStore, DeliveryStore, ReplayStore } from './deliveries.ts';
import type { DirectoryStore, RegistryStore, UseStore } from './directory.ts';
import type { DispatchStore, SettlementStore } from './dispatch.ts';
import type { EmployeeStore } from './employees.ts';
import type { ErasureStore, EventStore, EventTypeStore } from './events.ts';
import type { FailureStore } from './failures.ts';
import type { FigureStore } from './figures.ts';
import type { ClockLeadStore, ExpiryStore, RemovalStore, RetentionStore } from './housekeeping.ts';
import type { InstanceStore } from './instances.ts';
import type { KeptReplyStore } from './kept-replies.ts';
import type { OverviewStore, QueueStore } from './overview.ts';
import type { PullStore } from './pull.ts';
import type { SearchStore } from './search.ts';
import type { SettingStore } from './settings.ts';
import type { ShortLivedStore } from './short-lived.ts';
import type { AllowanceStore, UsageStore } from './usage.ts';
import type { EndpointStore, KeyStore, StateHistoryStore, WebhookStore } from './webhooks.ts';

export type Store = {
  /** The customer whose part of the data this store has (`customerStoreOf`); null: all data. */
  readonly customerId: string | null;
  /** As `Database.confirm`. */
  confirm(): Answer<void>;
  readonly customers: CustomerStore;
  readonly portalLinks: PortalLinkStore;
  readonly usage: UsageStore;
  readonly allowances: AllowanceStore;
  readonly users: UserStore;
  readonly invitations: InvitationStore;
  readonly products: ProductStore;
  readonly applications: ApplicationStore;
  readonly applicationUses: ApplicationUseStore;
  readonly tokens: TokenStore;
  readonly failures: FailureStore;
  readonly shortLived: ShortLivedStore;
  readonly employees: EmployeeStore;
  readonly endpoints: EndpointStore;
  readonly keys: KeyStore;
  readonly keptReplies: KeptReplyStore;
  readonly eventTypes: EventTypeStore;
  readonly webhooks: WebhookStore;
  readonly events: EventStore;
  readonly dispatch: DispatchStore;
  readonly settlements: SettlementStore;
  readonly pulls: PullStore;
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
  readonly search: SearchStore;
  readonly stateHistory: StateHistoryStore;
  readonly clockLead: ClockLeadStore;
  /** Null if one process has the database for itself. */
  readonly instances: InstanceStore | null;
};
