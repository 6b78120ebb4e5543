/**
 * The use cases that every administered resource has (contract §4.3): audited changes, merge patches, lists, and deletion only if nothing
 * refers to the record. A `Resource` describes the differences.
 */

import type { Acting } from '../domain/acting.ts';
import {
  type AuditAction,
  type AuditEntry,
  type AuditedResource,
  auditEntry,
  changesBetween,
} from '../domain/audit.ts';
import { type Clock, type Ids, isUuidV7 } from '../kernel/ids.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import type { Statement } from '../store/port/database.ts';
import { ConstraintViolation, retryStale } from '../store/port/errors.ts';
import type { After, Beside, Filter, ResourceStore, Administered as StoredResource } from '../store/port/resource.ts';
import type { Store } from '../store/port/store.ts';
import { type Limited, refuseBeyondLimit } from './customer-limits.ts';
import { refuseChanged } from './entity-tag.ts';
import type { InputReader, MergePatch } from './input.ts';

type Resource<Rec extends StoredResource, Body, Input> = {
  /** Singular, as in audit actions and messages: `application`. */
  readonly name: AuditedResource;
  readonly store: ResourceStore<Rec>;
  /** Given if each record belongs to a customer or to the operator, which its `customerId` says (contract §8.2). */
  readonly owners?: Pick<Store, 'customerId' | 'customers'>;
  /** Given if customers have a limit on their number. The store enforces it too, for concurrent requests. */
  readonly limited?: Limited;
  readonly reader: Pick<InputReader<Body, Input>, 'apply'>;
  /** The body that would create this record, which a patch merges into. */
  writable(record: Rec): Body;
  /** Applies the rules beyond the schema and makes the record. `before` and `patch` are null for a new one. Throws `Refusal`. */
  readonly build: Build<Rec, Body, Input>;
  /** The view of the record. Its entity tag is made of it. */
  shown(record: Rec): unknown;
  /** Names the records that refer to this one, which cannot be deleted then. */
  referrers?(record: Rec): Promise<readonly string[]>;
  /** The field behind each unique column, such as `{'user_account.user_name': 'userName'}`. */
  readonly unique?: Readonly<{ [column: string]: string }>;
  /** The record as the audit log compares it, with the API's field names. Secrets are of type `Secret` or their names end in `Hash`. */
  audited(record: Rec): Readonly<{ [field: string]: unknown }>;
  /**
   * Throws 401 if the change would grant or take over more rights than the actor has, and 409 if nobody could administer afterwards
   * (contract §4.4). `before` is null for a new record, `after` for a deleted one.
   */
  contain?(acting: Acting, before: Rec | null, after: Rec | null): Promise<void> | void;
  /** Why the record cannot be changed, or deleted. Null if it can. */
  readOnly?(record: Rec, verb: 'change' | 'delete'): string | null;
};

/** A record to write, and the statements of the store that refuse the write if what the record was checked with has changed. */
type Built<Rec> = { readonly record: Rec; readonly first?: readonly Statement[] };

/** `input` is the whole record as a caller would write it; `patch` is the part that this change named. */
export type Build<Rec, Body, Input> = (
  input: Input,
  before: Rec | null,
  stamp: Stamp,
  patch: MergePatch<Body> | null,
) => Promise<Built<Rec>>;

/** Identity and instants of the record to write. `updatedAt` always grows, even within a millisecond. */
export type Stamp = { readonly id: string; readonly createdAt: number; readonly updatedAt: number };

/** The use cases of a resource. Readers need neither `Body` nor `Input`. */
export type Administration<Rec, Body = never, Input = never> = {
  create(input: Input, acting: Acting, more?: Creation<Rec>): Promise<Rec>;
  get(id: string): Promise<Rec>;
  list(after: After, limit: number, filter?: Filter): Promise<Rec[]>;
  /** The view of the record. Its entity tag is made of it. */
  shown(record: Rec): unknown;
  /** A patch that changes nothing writes nothing (RFC 7396 §2): `updatedAt` stays, and the audit log gets no entry. */
  patch(id: string, patch: MergePatch<Body>, acting: Acting): Promise<Rec>;
  /** Applies `next` and audits the change as `action`. Writes nothing if `next` returns `before` itself. */
  change(
    id: string,
    action: AuditAction,
    acting: Acting,
    next: (before: Rec, stamp: Stamp) => Promise<Rec> | Rec,
    beside?: Beside<Rec>,
  ): Promise<Rec>;
  remove(id: string, acting: Acting): Promise<void>;
};

/** The result of `administer`: `build` replaces the resource's own in one call of `patch`, also when a stale write is tried again. */
type Administered<Rec, Body, Input> = Omit<Administration<Rec, Body, Input>, 'patch'> & {
  patch(id: string, patch: MergePatch<Body>, acting: Acting, build?: Build<Rec, Body, Input>): Promise<Rec>;
};

type Creation<Rec> = {
  /** Adds what only the caller knows, such as the hash of a secret that it will show. */
  readonly complete?: (record: Rec) => Rec;
  readonly beside?: Beside<Rec> | undefined;
};

type Owned = { readonly customerId?: string | null | undefined };

export function administer<
  Rec extends StoredResource & Owned & { readonly createdAt: number },
  Body,
  Input extends object,
>(
  resource: Resource<Rec, Body, Input>,
  { clock, ids }: { readonly clock: Clock; readonly ids: Ids },
): Administered<Rec, Body, Input> {
  const { name, store } = resource;
  const title = name.replace('-', ' ');

  const entry = (action: AuditAction, acting: Acting, before: Rec | null, after: Rec | null, at: number): AuditEntry =>
    auditEntry(ids, acting.actor, action, `${name}:${(after ?? before)?.id}`, {
      at,
      // A customer itself belongs to the operator, whose notes its `metadata` may hold.
      customerId: (after ?? before)?.customerId ?? null,
      changes: changesBetween(before && resource.audited(before), after && resource.audited(after)),
    });

  const get = async (id: string): Promise<Rec> => {
    const record = isUuidV7(id) ? await store.get(id) : null;
    if (record === null) throw new Refusal('not_found', `there is no ${title} ${id.slice(0, 64)}`);
    return record;
  };

  const refuseReadOnly = (record: Rec, verb: 'change' | 'delete'): void => {
    const reason = resource.readOnly?.(record, verb) ?? null;
    if (reason !== null) throw new Refusal('read_only', reason);
  };

  const write = (
    id: string,
    action: AuditAction,
    acting: Acting,
    next: (before: Rec, stamp: Stamp) => Promise<Built<Rec>>,
    beside: Beside<Rec>,
  ): Promise<Rec> =>
    retryStale(async () => {
      const before = await get(id);
      refuseChanged(acting.ifMatch, resource.shown(before), title);
      refuseReadOnly(before, 'change');
      const updatedAt = Math.max(clock(), before.updatedAt + 1);
      const { record: after, first = [] } = await next(before, { id, createdAt: before.createdAt, updatedAt });
      await resource.contain?.(acting, before, after);
      if (after === before) return before;
      await refusingDuplicates(
        resource,
        after,
        store.update(after, before, entry(action, acting, before, after, updatedAt), [...first, ...beside(after)]),
      );
      return after;
    });

  return {
    get,
    change: (id, action, acting, next, beside = nothing) =>
      write(id, action, acting, async (before, stamp) => ({ record: await next(before, stamp) }), beside),
    shown: resource.shown,
    list: (after, limit, filter) => store.list(after, limit, filter),
    create: (given, acting, { complete = (record: Rec) => record, beside = nothing } = {}) =>
      retryStale(async () => {
        const now = clock();
        const input: Input & Owned = await withOwner(resource.owners, given);
        if (resource.owners !== undefined && resource.limited !== undefined)
          await refuseBeyondLimit(resource.owners.customers, resource.limited, input.customerId ?? null);
        const stamp = { id: ids.uuid(), createdAt: now, updatedAt: now };
        const { record: built, first = [] } = await resource.build(input, null, stamp, null);
        const record = complete(built);
        await resource.contain?.(acting, null, record);
        await refusingDuplicates(
          resource,
          record,
          store.insert(record, entry(`${name}.create`, acting, null, record, now), [...first, ...beside(record)]),
        );
        return record;
      }),
    patch: (id, patch, acting, build = resource.build) =>
      write(
        id,
        `${name}.update`,
        acting,
        async (before, stamp) => {
          const input = resource.reader.apply(resource.writable(before), patch);
          refuseMove(before, input);
          const built = await build(input, before, stamp, patch);
          return isSame(before, built.record) ? { record: before } : built;
        },
        nothing,
      ),
    remove: (id, acting) =>
      retryStale(async () => {
        const record = await get(id);
        refuseChanged(acting.ifMatch, resource.shown(record), title);
        refuseReadOnly(record, 'delete');
        await resource.contain?.(acting, record, null);
        const referrers = (await resource.referrers?.(record)) ?? [];
        if (referrers.length > 0) {
          throw new Refusal('in_use', `the ${title} is used by ${referrers.join(', ')}`, {
            details: referrers.map((referrer) => ({ field: 'id', problem: `is used by ${referrer}` })),
          });
        }
        await store.remove(id, entry(`${name}.delete`, acting, record, null, clock()), record.updatedAt);
      }),
  };
}

/** The input with the customer that the record will belong to. A customer creates only records of its own. Throws 400. */
async function withOwner<Input extends Owned>(
  owners: Resource<never, never, never>['owners'],
  input: Input,
): Promise<Input> {
  if (owners === undefined) return input;
  const { customerId: own, customers } = owners;
  const asked = input.customerId ?? null;
  const known =
    asked === null || asked === own || (own === null && isUuidV7(asked) && (await customers.get(asked)) !== null);
  if (!known) throw refuseField('customerId', 'is not the id of a customer');
  return { ...input, customerId: own ?? asked };
}

/** Throws 400 if a patch would give the record to another customer (contract §8.2). */
function refuseMove(before: Owned, input: Owned): void {
  if ((before.customerId ?? null) === (input.customerId ?? null)) return;
  throw refuseField('customerId', 'is fixed when the resource is created');
}

function nothing(): readonly [] {
  return [];
}

/** Compares everything but `updatedAt`, also the fields that the audit log omits. */
function isSame(before: object, after: object): boolean {
  return Object.keys(changesBetween({ ...before }, { ...after })).length === 0;
}

/** Waits for a write of `record`. Turns the violation of a unique column into 409, which names the field and its value. */
export async function refusingDuplicates(
  { name, unique = {} }: Pick<Resource<never, never, never>, 'unique'> & { readonly name: string },
  record: object,
  write: Promise<void>,
): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof ConstraintViolation) || error.kind !== 'unique') throw error;
    const field = error.columns.map((column) => unique[column]).find((known) => known !== undefined);
    if (field === undefined) throw error;
    const taken = (record as Readonly<Record<string, unknown>>)[field];
    throw refuseField(field, `is taken: another ${name.replace('-', ' ')} has ${JSON.stringify(taken)}`, 'conflict');
  }
}
