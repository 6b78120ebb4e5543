/** Reads the lists and texts of an export, and bounds how many items it may have. Pure. */

import { refuseField } from '../kernel/refusal.ts';
import { isObject } from '../kernel/validation.ts';

/** The most event types, customers and endpoints in one export. Each is written in its own transaction. */
const ITEMS_MAX = 20_000;

export type Fields = Readonly<Record<string, unknown>>;

/** How the person who imports it wants an export to be read. */
export type ImportOptions = {
  /** New names of event types, by their names in the export. */
  readonly renamed: ReadonlyMap<string, string>;
  /** The prefix of the other sender's header names. Null: its default. */
  readonly headerPrefix: string | null;
  /** Where events have their channels: `subject`, or a path such as `data.channels` of a list. */
  readonly channelsAt: string;
  /** The waits between attempts. Null: the default of the other sender. */
  readonly retryDelaysSeconds: readonly number[] | null;
  /** Leave out the JSON Schemas of event types. */
  readonly withoutSchemas: boolean;
};

/** Reads the parts of an export, and counts them. */
export type ExportReader = {
  /** A list at `path`: plain, or in an object under one of `wrappers`, as the API returns it. Throws a refusal that names the place. */
  list(value: unknown, path: string, wrappers: readonly string[]): readonly (readonly [item: unknown, path: string])[];
};

export function exportReader(): ExportReader {
  let count = 0;
  return {
    list: (value, path, wrappers) => {
      if (value === undefined || value === null) return [];
      const wrapper = isObject(value) ? wrappers.find((name) => Array.isArray(value[name])) : undefined;
      const items = isObject(value) && wrapper !== undefined ? value[wrapper] : value;
      if (!Array.isArray(items)) {
        const wrapped = wrappers.length === 0 ? '' : `, or an object with one under ${wrappers.join(' or ')}`;
        throw refuseField(path, `must be a list${wrapped}`);
      }
      count += items.length;
      if (count > ITEMS_MAX) throw refuseField('the export', `has more than ${ITEMS_MAX} items: import it in parts`);
      const inner = wrapper === undefined ? path : `${path}.${wrapper}`;
      return items.map((item: unknown, at) => [item, `${inner}[${at}]`] as const);
    },
  };
}

/** The text of a member, or null if it is absent, empty or no text. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The texts of a list. Items that are no text are left out. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
