/** Event types on PostgreSQL (`event_type`): one query for all look-ups of a turn of the event loop. */
import type { EventType } from '../../events/event.ts';
import type { Database, Parameters } from '../database.ts';
import type { EventTypeStore } from '../events.ts';
import { EVENT_TYPE } from '../sql/events.ts';
import { rowsOf } from './arrays.ts';
import { READS, together } from './together.ts';

const WANTED = rowsOf<{ readonly name: string }>('wanted', { name: 'TEXT' });
const NAMED = `name IN (SELECT name FROM ${WANTED.from})`;
const GET_BY_NAMES = `SELECT ${EVENT_TYPE.columns()} FROM event_type WHERE ${NAMED}`;
const MUST_BE_ENCRYPTED = `SELECT name FROM event_type WHERE ${NAMED} AND encryption_required`;

export function eventTypeReads(db: Database): Pick<EventTypeStore, 'getByName' | 'requiringEncryption'> {
  const mustBeEncrypted = together<readonly string[], ReadonlySet<string>>(async (lists) => {
    const rows = await db.all(MUST_BE_ENCRYPTED, namesOf(lists.flat()));
    const found = new Set(rows.map(({ name }) => String(name)));
    return lists.map(() => found);
  }, READS);
  return {
    getByName: together<string, EventType | null>(async (names) => {
      const rows = await db.all(GET_BY_NAMES, namesOf(names));
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

function namesOf(names: readonly string[]): Parameters {
  return WANTED.parameters([...new Set(names)].map((name) => ({ name })));
}
