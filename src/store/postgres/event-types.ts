/** Event types on PostgreSQL (`event_type`): one query for all look-ups that come together. */
import type { EventType } from '../../domain/event.ts';
import type { Database } from '../port/database.ts';
import type { EventTypeStore } from '../port/events.ts';
import { EVENT_TYPE } from '../shared/events.ts';
import { rowsOf } from './arrays.ts';
import { batched, READS } from './batched.ts';

const WANTED = rowsOf<{ readonly name: string }>('wanted', { name: 'TEXT' });
const GET_BY_NAMES = `SELECT ${EVENT_TYPE.columns()} FROM event_type WHERE name IN (SELECT name FROM ${WANTED.from})`;

export function eventTypeReads(db: Database): Pick<EventTypeStore, 'getByName'> {
  return {
    getByName: batched<string, EventType | null>(async (names) => {
      const wanted = WANTED.parameters([...new Set(names)].map((name) => ({ name })));
      const found = new Map(
        (await db.all(GET_BY_NAMES, wanted)).map((row) => [String(row.name), EVENT_TYPE.read(row)]),
      );
      return names.map((name) => found.get(name) ?? null);
    }, READS),
  };
}
