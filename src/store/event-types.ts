/** The kinds of event that may be published (`event_type`). */
import type { EventType } from '../events/event-type.ts';
import type { ResourceStore } from './resource.ts';

export type EventTypeStore = ResourceStore<EventType> & {
  getByName(name: string): Promise<EventType | null>;
  /** Those of the names whose events go out encrypted or not at all. One look-up each: asked before every attempt without a key. */
  requiringEncryption(names: Iterable<string>): Promise<Pick<EventType, 'name' | 'encryptionRequired'>[]>;
  /** Whether the log has an event of the type whose data was not erased. */
  isInLog(name: string): Promise<boolean>;
  all(): Promise<EventType[]>;
  /** Replaces every built-in event type by those of this version. */
  replaceBuiltIn(eventTypes: readonly EventType[]): Promise<void>;
};
