/** Makes the event types, customers, endpoints and webhooks of a plan that do not exist yet. */

import { type Customers, customerReader } from '../customers/customers.ts';
import { COMMAND_LINE } from '../domain/acting.ts';
import { ENDPOINTS_LIMIT_DEFAULT, PAGE_MAX, WEBHOOKS_LIMIT_DEFAULT } from '../domain/limits.ts';
import type { Webhook } from '../domain/webhook.ts';
import { type EventTypes, eventTypeReader } from '../events/event-types.ts';
import { Refusal } from '../kernel/refusal.ts';
import { everyRow } from '../store/port/resource.ts';
import type { Store } from '../store/port/store.ts';
import { endpointReader } from '../webhooks/endpoint-schema.ts';
import type { Endpoints } from '../webhooks/endpoints.ts';
import { webhookReader } from '../webhooks/webhook-schema.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { Plan, PlannedCustomer, PlannedEndpoint, PlannedEventType } from './import-plan.ts';
import { nameEnd } from './record-names.ts';

export type ImportServices = {
  readonly customers: Customers;
  readonly eventTypes: EventTypes;
  readonly endpoints: Endpoints;
  readonly webhooks: Webhooks;
};

/** The result for one item of the export. */
export type ImportRow = {
  readonly kind: 'event type' | 'customer' | 'endpoint';
  readonly path: string;
  readonly name: string;
  /** The customer of an endpoint. */
  readonly customer: string | null;
  readonly result: 'made' | 'there' | 'refused';
  /** Why it was refused, or why its webhook was not started; null otherwise. */
  readonly reason: string | null;
  /** The parts that were not kept. */
  readonly lost: readonly string[];
  /** The webhook of the endpoint was started now. */
  readonly started: boolean;
};

type Run = {
  readonly services: ImportServices;
  /** Where to look for existing records. */
  readonly store: Pick<Store, 'customers' | 'endpoints' | 'webhooks' | 'eventTypes'>;
  /** Start the webhooks that may. */
  readonly start: boolean;
  /** Called with each row when it is finished. */
  onRow(row: ImportRow): void;
};

/** Another run makes nothing twice. A refusal becomes a row. Any other error ends the run, and the records made so far stay. */
export async function carryOut({ eventTypes, customers }: Plan, run: Run): Promise<void> {
  for (const planned of eventTypes) run.onRow(await makeEventType(planned, run));
  for (const planned of customers) await makeCustomer(planned, run);
}

async function makeEventType(planned: PlannedEventType, { services, store }: Run): Promise<ImportRow> {
  const { path, name, problem, lost, body } = planned;
  const row = { kind: 'event type', path, name, customer: null, lost, started: false } as const;
  if (problem !== null) return { ...row, result: 'refused', reason: problem };
  return outcome(row, async () => {
    if ((await store.eventTypes.getByName(String(body.name))) !== null) return 'there';
    await services.eventTypes.create(eventTypeReader.create(body), COMMAND_LINE);
    return 'made';
  });
}

async function makeCustomer(planned: PlannedCustomer, run: Run): Promise<void> {
  const { path, name, externalId, problem, lost, body, endpoints } = planned;
  const { services, store, onRow } = run;
  const row = { kind: 'customer', path, name, customer: null, lost, started: false } as const;
  let id = '';
  const made: ImportRow =
    problem !== null
      ? { ...row, result: 'refused', reason: problem }
      : await outcome(row, async () => {
          const there = await store.customers.getByExternalId(externalId);
          id = there?.id ?? '';
          if (there !== null) return 'there';
          const input = customerReader.create({ ...body, limits: limitsFor(endpoints.length) });
          ({ id } = await services.customers.create(input, COMMAND_LINE));
          return 'made';
        });
  onRow(made);
  const known = made.result === 'there' && endpoints.length > 0 ? await endpointsOf(store, id) : [];
  for (const endpoint of endpoints) {
    if (made.result !== 'refused') onRow(await makeEndpoint(endpoint, { id, name, known }, run));
    else onRow(refusedWith(endpoint, name));
  }
}

/** A customer may have more endpoints at the other sender than customers have here by default. */
function limitsFor(endpoints: number): { readonly endpoints: number | null; readonly webhooks: number | null } {
  return {
    endpoints: endpoints > ENDPOINTS_LIMIT_DEFAULT ? endpoints : null,
    webhooks: endpoints > WEBHOOKS_LIMIT_DEFAULT ? endpoints : null,
  };
}

type Known = { readonly id: string; readonly name: string; readonly enabled: boolean };
type Owner = { readonly id: string; readonly name: string; readonly known: readonly Known[] };

async function endpointsOf({ endpoints }: Run['store'], customerId: string): Promise<readonly Known[]> {
  const all: Known[] = [];
  const list = (after: string) => endpoints.list(after, PAGE_MAX, { customerId });
  for await (const { id, name, enabled } of everyRow(PAGE_MAX, list)) all.push({ id, name, enabled });
  return all;
}

async function makeEndpoint(planned: PlannedEndpoint, owner: Owner, run: Run): Promise<ImportRow> {
  const { path, name, problem, lost, sourceId } = planned;
  const row = { kind: 'endpoint', path, name, customer: owner.name, lost, started: false } as const;
  if (problem !== null) return { ...row, result: 'refused', reason: problem };
  let started = false;
  let unstarted: string | null = null;
  const result = await outcome(row, async () => {
    const { services, store, start } = run;
    const end = nameEnd(sourceId);
    const there = owner.known.find((endpoint) => endpoint.name.endsWith(end));
    const endpoint =
      there ??
      (await services.endpoints.create(
        endpointReader.create({ ...planned.endpoint, customerId: owner.id }),
        COMMAND_LINE,
      ));
    const existing = there === undefined ? undefined : await webhookNamed(store, endpoint.id, end);
    const webhook =
      existing ??
      (await services.webhooks.create(
        webhookReader.create({ ...planned.webhook, customerId: owner.id, endpointId: endpoint.id }),
        COMMAND_LINE,
      ));
    const { state, stateReason } = webhook.progress;
    if (start && planned.mayStart && endpoint.enabled && state === 'stopped' && stateReason === null) {
      // What was made stays, also if it cannot start.
      unstarted = await refusalOf(() => services.webhooks.start(webhook.id, COMMAND_LINE));
      started = unstarted === null;
    }
    return existing === undefined ? 'made' : 'there';
  });
  return { ...result, started, reason: result.reason ?? unstarted };
}

/** The webhook of the endpoint whose name ends so. */
async function webhookNamed({ webhooks }: Run['store'], endpointId: string, end: string): Promise<Webhook | undefined> {
  const list = (after: string) => webhooks.list(after, PAGE_MAX, { endpointId });
  for await (const webhook of everyRow(PAGE_MAX, list)) if (webhook.name.endsWith(end)) return webhook;
  return undefined;
}

function refusedWith({ path, name, lost }: PlannedEndpoint, customer: string): ImportRow {
  const reason = 'its customer was refused';
  return { kind: 'endpoint', path, name, customer, lost, started: false, result: 'refused', reason };
}

async function outcome(
  row: Omit<ImportRow, 'result' | 'reason'>,
  make: () => Promise<'made' | 'there'>,
): Promise<ImportRow> {
  let result = 'refused' as ImportRow['result'];
  const reason = await refusalOf(async () => {
    result = await make();
  });
  return { ...row, result, reason, lost: result === 'there' ? [] : row.lost };
}

/** Why the work was refused; null if it was done. */
async function refusalOf(work: () => Promise<unknown>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return reasonOf(error);
  }
}

/** One line. The values of fields are not in it. */
function reasonOf({ message, details }: Refusal): string {
  const problems = (details ?? []).map(({ field, problem }) => `${field} ${problem}`);
  return problems.length === 0 ? message : problems.join('; ');
}
