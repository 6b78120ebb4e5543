/** Event types that may be published (`event_type`). */

import type { EventType } from '../../../events/event.ts';
import type { EventTypeStore } from '../../events.ts';
import type { Database } from '../driver/database.ts';
import { flag, json, number, table, text } from '../driver/table.ts';
import { readOne, resourceStore } from '../resource.ts';

const EVENT_TYPE = table<EventType>('event_type', 'id', {
  id: text,
  name: text,
  description: text,
  encryptionRequired: flag,
  builtIn: flag,
  dataSchema: json<Readonly<Record<string, unknown>> | null>(),
  createdAt: number,
  updatedAt: number,
});

const GET_BY_NAME = `SELECT ${EVENT_TYPE.columns()} FROM event_type WHERE name = @name`;
const MUST_BE_ENCRYPTED = 'SELECT name FROM event_type WHERE name = @name AND encryption_required = 1';
// Index: event_of_type.
const IN_LOG = 'SELECT key FROM event WHERE type = @name AND erased_at IS NULL LIMIT 1';
const ALL = `SELECT ${EVENT_TYPE.columns()} FROM event_type ORDER BY id`;
const FORGET_BUILT_IN = 'DELETE FROM event_type WHERE built_in = 1';

export function eventTypeStore(db: Database): EventTypeStore {
  return {
    ...resourceStore(db, 'event_type', EVENT_TYPE),
    getByName: async (name) => readOne(EVENT_TYPE, await db.get(GET_BY_NAME, { name })),
    requiringEncryption: async (names) => {
      const found: Pick<EventType, 'name' | 'encryptionRequired'>[] = [];
      for (const name of names) {
        if ((await db.get(MUST_BE_ENCRYPTED, { name })) !== undefined) found.push({ name, encryptionRequired: true });
      }
      return found;
    },
    isInLog: async (name) => (await db.get(IN_LOG, { name })) !== undefined,
    all: async () => (await db.all(ALL, {})).map(EVENT_TYPE.read),
    replaceBuiltIn: async (eventTypes) =>
      void (await db.commit([{ sql: FORGET_BUILT_IN, params: {} }, ...eventTypes.map(EVENT_TYPE.insert)])),
  };
}
