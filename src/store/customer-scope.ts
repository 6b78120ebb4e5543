/** The rows of one customer, as its store (`customer-store.ts`) knows them, and the checks that confine each verb to them. */
import type { AuditEntry } from '../domain/audit.ts';
import { confined, type OwnVerbs, type StorePart } from './confinement.ts';
import type { OwnedTable } from './port/customers.ts';
import type { Statement } from './port/database.ts';
import type { After, Filter } from './port/resource.ts';
import type { Store } from './port/store.ts';

type Owned = { readonly id: string; readonly customerId: string | null };
type Verbs<Read, Written> = {
  get(id: string): Promise<Read | null>;
  list(after: After, limit: number, filter?: Filter): Promise<Read[]>;
  insert(record: Written, audit: AuditEntry, first?: readonly Statement[]): Promise<void>;
  remove(id: string, audit: AuditEntry, updatedAt?: number): Promise<void>;
};

export type Scope = {
  readonly customerId: string;
  /** The same as a filter. */
  readonly own: { readonly customerId: string };
  /** A part of the store that has only these verbs and the shared ones. */
  part<Part extends StorePart>(name: Part, verbs: OwnVerbs<Part>): Store[Part];
  owns(table: OwnedTable, id: string): Promise<boolean>;
  ownIds(table: OwnedTable, ids: readonly string[]): Promise<string[]>;
  /** The numbers of the customer's webhooks, newest first. */
  numbers(): Promise<number[]>;
  /** The numbers that are the customer's own, of some or of all. */
  among(wanted: readonly number[] | undefined): Promise<readonly number[]>;
  /** Throws for a record of someone else. */
  mine<T>(record: T & Owned): T;
  /** Audit entries say whose they are, so that only this customer and the operator see them. */
  audited(audit: AuditEntry): AuditEntry;
  /** The verbs of a resource that each of them has. */
  resource<Read extends Owned, Written extends Owned>(
    table: OwnedTable,
    given: Verbs<Read, Written>,
  ): Verbs<Read, Written>;
  /** Returns the result of `read` for a webhook of the customer, and `none` for any other number. */
  ofNumber<T>(webhookNumber: number, none: T, read: () => Promise<T>): Promise<T>;
  /** Returns the result of `write` for a webhook of the customer, and throws for any other number. */
  withNumber<T>(webhookNumber: number, write: () => Promise<T>): Promise<T>;
};

export function scopeOf(store: Store, customerId: string): Scope {
  const own = { customerId };
  const { customers } = store;
  const owns = (table: OwnedTable, id: string): Promise<boolean> => customers.owns(customerId, table, id);
  const numbers = async (): Promise<number[]> => [...(await customers.webhookNumbers(customerId)).keys()];
  const ownsNumber = async (webhookNumber: number): Promise<boolean> =>
    (await customers.webhookNumbers(customerId)).has(webhookNumber);
  const mine: Scope['mine'] = (record) => {
    if (record.customerId !== customerId) throw new Error(`the ${customerId} store got a record of another owner`);
    return record;
  };
  const audited = (audit: AuditEntry): AuditEntry => ({ ...audit, customerId });
  return {
    customerId,
    own,
    part: (name, verbs) => confined(store, name, verbs),
    owns,
    ownIds: async (table, ids) => {
      const known = await Promise.all(ids.map((id) => owns(table, id)));
      return ids.filter((_, at) => known[at]);
    },
    numbers,
    among: async (wanted) => {
      const known = await numbers();
      const asked = wanted && new Set(wanted);
      return asked === undefined ? known : known.filter((number) => asked.has(number));
    },
    mine,
    audited,
    resource: (table, given) => ({
      get: async (id) => ((await owns(table, id)) ? given.get(id) : null),
      list: async (after, limit, filter = {}) =>
        (filter.customerId ?? customerId) === customerId ? given.list(after, limit, { ...filter, ...own }) : [],
      insert: (record, audit, first) => given.insert(mine(record), audited(audit), first),
      remove: async (id, audit, updatedAt) => {
        if (!(await owns(table, id))) throw new Error('a customer cannot remove a record of another owner');
        await given.remove(id, audited(audit), updatedAt);
      },
    }),
    ofNumber: async (webhookNumber, none, read) => ((await ownsNumber(webhookNumber)) ? read() : none),
    withNumber: async (webhookNumber, write) => {
      if (!(await ownsNumber(webhookNumber))) throw new Error('a customer cannot write to a webhook of another owner');
      return write();
    },
  };
}
