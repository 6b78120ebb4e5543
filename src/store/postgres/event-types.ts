/** Event types on PostgreSQL (`event_type`): one query for all look-ups of a turn of the event loop. */
import type { EventType } from '../../events/event.ts';
import type { Database } from '../database.ts';
import type { EventTypeStore } from '../events.ts';
import { EVENT_TYPE } from '../sql/events.ts';
import { textArray } from './arrays.ts';
import { together } from './together.ts';

/** Reads under way at once. A query takes less than a millisecond, so more would only make each of them smaller. */
const READS = { underWayMax: 2, callsMax: 1000 };

const NAMED = 'name = ANY (CAST(@names AS TEXT[]))';
const GET_BY_NAMES = `SELECT ${EVENT_TYPE.columns()} FROM event_type WHERE ${NAMED}`;
const MUST_BE_ENCRYPTED = `SELECT name FROM event_type WHERE ${NAMED} AND encryption_required`;

export function eventTypeReads(db: Database): Pick<EventTypeStore, 'getByName' | 'requiringEncryption'> {
  const mustBeEncrypted = together<readonly string[], ReadonlySet<string>>(async (lists) => {
    const rows = await db.all(MUST_BE_ENCRYPTED, { names: textArray([...new Set(lists.flat())]) });
    const found = new Set(rows.map(({ name }) => String(name)));
    return lists.map(() => found);
  }, READS);
  return {
    getByName: together<string, EventType | null>(async (names) => {
      const rows = await db.all(GET_BY_NAMES, { names: textArray([...new Set(names)]) });
      const found = new Map(rows.map((row) => [String(row.name), EVENT_TYPE.read(row)]));
      return names.map((name) => found.get(name) ?? null);
    }, READS),
    requiringEncryption: async (names) => {
      const wanted = [...names];
      const found = await mustBeEncrypted(wanted);
      return wanted.filter((name) => found.has(name)).map((name) => ({ name, encryptionRequired: true }));
    },
  };
}
