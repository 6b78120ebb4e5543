/** Whose the records of a table are. */
import type { Store } from '../store/port/store.ts';
import type { Shown } from './output.ts';

type Table = { readonly items: readonly Shown[]; readonly columns: readonly string[] };

/** The table with the column `customer` behind the name, if a record belongs to a customer. JSON has the id instead. */
export async function withCustomers(
  { customers }: Pick<Store, 'customers'>,
  records: readonly object[],
  { items, columns }: Table,
): Promise<Table> {
  const ids = records.map((record) => (record as { readonly customerId?: string | null }).customerId ?? null);
  if (ids.every((id) => id === null)) return { items, columns };
  const names = await customers.names(ids.filter((id) => id !== null));
  const behind = Math.max(1, columns.findIndex((column) => /name$/i.test(column)) + 1);
  return {
    items: items.map((item, at) => ({ ...item, customer: names.get(ids[at] ?? '') ?? null })),
    columns: columns.toSpliced(behind, 0, 'customer'),
  };
}
