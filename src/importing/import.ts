/** Imports an export of another sender: rehearses all of it first, then makes the records that do not exist yet. */

import { carryOut, type ImportRow, type ImportServices } from './carry-out.ts';
import type { Plan } from './import-plan.ts';
import { type ImportDependencies, rehearsalServices } from './rehearsal.ts';

type ImportRun = {
  /** Make it. Otherwise nothing is written. */
  readonly apply: boolean;
  /** Make the rest if something is refused. Otherwise a refusal stops the whole import. */
  readonly skipRefused: boolean;
  /** Start the webhooks of endpoints that were enabled. */
  readonly start: boolean;
  /** Called with each row that was made or left, if something is made. */
  onRow(row: ImportRow): void;
};

/** The rows of the rehearsal, or of the import if `applied`. Another run makes nothing twice. */
export async function importPlan(
  plan: Plan,
  services: ImportServices,
  dependencies: ImportDependencies,
  { apply, skipRefused, start, onRow }: ImportRun,
): Promise<{ readonly rows: readonly ImportRow[]; readonly applied: boolean }> {
  const { store } = dependencies;
  const rehearsed: ImportRow[] = [];
  const rehearsal = rehearsalServices(dependencies);
  await carryOut(plan, { services: rehearsal, store, start: false, onRow: (row) => rehearsed.push(row) });
  const isRefused = rehearsed.some(({ result }) => result === 'refused');
  if (!apply || (isRefused && !skipRefused)) return { rows: rehearsed, applied: false };
  const rows: ImportRow[] = [];
  const keep = (row: ImportRow): void => {
    rows.push(row);
    onRow(row);
  };
  await carryOut(withProblems(plan, rehearsed), { services, store, start, onRow: keep });
  return { rows, applied: true };
}

/** Refuses from the beginning everything that the rehearsal refused. Otherwise an endpoint would be made whose webhook is refused. */
function withProblems({ eventTypes, customers }: Plan, rehearsed: readonly ImportRow[]): Plan {
  const reasons = new Map(rehearsed.map(({ path, reason }) => [path, reason]));
  const marked = <Item extends { readonly path: string; readonly problem: string | null }>(item: Item): Item => ({
    ...item,
    problem: reasons.get(item.path) ?? item.problem,
  });
  return {
    eventTypes: eventTypes.map(marked),
    customers: customers.map((customer) => ({ ...marked(customer), endpoints: customer.endpoints.map(marked) })),
  };
}
