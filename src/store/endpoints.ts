/** Customers' endpoints (`endpoint`). */
import type { AuditEntry } from '../resources/audit.ts';
import type { Endpoint } from '../webhooks/endpoint.ts';
import type { StateChange } from '../webhooks/webhook.ts';
import type { ResourceStore } from './resource.ts';
import type { Statement } from './sqlite/driver/database.ts';

/** A webhook that starts with a change of its endpoint, and what the audit log says of it. */
export type WebhookStart = { readonly change: StateChange; readonly audit: AuditEntry };

export type EndpointStore = Omit<ResourceStore<Endpoint>, 'update'> & {
  /**
   * Writes the row, and with it the starts of its webhooks, if all of them are still as they were read; throws `StaleWrite` otherwise.
   */
  update(
    endpoint: Endpoint,
    before: Endpoint,
    audit: AuditEntry,
    first?: readonly Statement[],
    starts?: readonly WebhookStart[],
  ): Promise<void>;
};
