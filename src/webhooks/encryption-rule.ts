/** Subscriptions that must be encrypted (contract §4): those to employee events, and to types that require it. Pure. */
import type { EventType } from '../events/event-type.ts';

type Named = Pick<EventType, 'name' | 'encryptionRequired'>;

/** The event types that match a subscription pattern: a name, `category.*` or `*`. */
export function matchingTypes<T extends Named>(pattern: string, eventTypes: readonly T[]): T[] {
  return eventTypes.filter(
    ({ name }) =>
      pattern === '*' || pattern === name || (pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1))),
  );
}

/** Names the events that make encryption necessary for these patterns, or null. A wildcard also matches future types. */
export function encryptionNeed(patterns: readonly string[], eventTypes: readonly Named[]): string | null {
  for (const pattern of patterns) {
    if (pattern === '*' || pattern.startsWith('employee.')) return 'employee events';
    const needing = matchingTypes(pattern, eventTypes).find(({ encryptionRequired }) => encryptionRequired);
    if (needing !== undefined) return `events of type ${needing.name}`;
  }
  return null;
}
