/** The store: its verbs by subject, each verb one transaction. No transaction crosses this border. */
import type { AccessVerbs } from './access.ts';
import type { AuditStore } from './audit.ts';
import type { CustomerVerbs } from './customers.ts';
import type { Answer } from './database.ts';
import type { DeliveryVerbs } from './deliveries.ts';
import type { DispatchVerbs } from './dispatch.ts';
import type { EmployeeStore } from './employees.ts';
import type { EventVerbs } from './events.ts';
import type { HousekeepingVerbs } from './housekeeping.ts';
import type { OverviewVerbs } from './overview.ts';
import type { SettingStore } from './settings.ts';
import type { WebhookVerbs } from './webhooks.ts';

export type Store = AccessVerbs &
  CustomerVerbs &
  EventVerbs &
  WebhookVerbs &
  DispatchVerbs &
  DeliveryVerbs &
  HousekeepingVerbs &
  OverviewVerbs & {
    /** The customer whose part of the data this store has (`customerStoreOf`); null: all data. */
    readonly customerId: string | null;
    /** As `Database.confirm`. */
    confirm(readSinceMs: number): Answer<void>;
    readonly audit: AuditStore;
    readonly settings: SettingStore;
    readonly employees: EmployeeStore;
  };
