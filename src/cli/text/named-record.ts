/** Names beside the ids that a record refers to, for people. `--json` has the ids only. */
import { isUuidV7 } from '../../kernel/ids.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Composed } from '../../services/compose.ts';
import type { Invocation } from '../command.ts';
import { printRecord, type Shown } from '../output.ts';

type NameOf = (composed: Composed, id: string) => Promise<string | undefined>;

/** By the field: the title of its line, and the name of what it refers to. */
const REFERENCES: Readonly<Record<string, { readonly title: string; readonly nameOf: NameOf }>> = {
  customerId: {
    title: 'customer',
    nameOf: async ({ store }, id) => (await store.customers.names([id])).get(id),
  },
  endpointId: { title: 'endpoint', nameOf: async ({ services }, id) => (await services.endpoints.get(id)).name },
  webhookId: { title: 'webhook', nameOf: async ({ services }, id) => (await services.webhooks.get(id)).name },
  userId: { title: 'user', nameOf: async ({ services }, id) => (await services.users.get(id)).userName },
};

/** `endpointId 01…` as `endpoint  Shop (01…)`. An id of something that is gone stays as it is. */
export async function namedRecord(composed: Composed, record: Shown): Promise<Shown> {
  const named: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(record)) {
    const reference = REFERENCES[field];
    const id = typeof value === 'string' && isUuidV7(value) ? value : null;
    const name = reference === undefined || id === null ? undefined : await found(reference.nameOf(composed, id));
    if (reference === undefined || name === undefined) named[field] = value;
    else named[reference.title] = `${name} (${id})`;
  }
  return named;
}

async function found(name: Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await name;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** Prints one record, with names if people read it. */
export async function printNamed(
  composed: Composed,
  invocation: Invocation,
  record: Shown,
  note?: string,
): Promise<void> {
  await printRecord(invocation, invocation.json ? record : await namedRecord(composed, record), note);
}
