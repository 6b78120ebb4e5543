/** Which subscriptions must be encrypted (contract §4): employee events, and every type that says so. Pure. */
import type { EventType } from '../events/event-type.ts';

type Named = Pick<EventType, 'name' | 'encryptionRequired'>;

/** The event types that a subscription pattern takes: a name, `category.*` or `*`. */
export function matchingTypes<T extends Named>(pattern: string, eventTypes: readonly T[]): T[] {
  return eventTypes.filter(
    ({ name }) =>
      pattern === '*' || pattern === name || (pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1))),
  );
}

/** Names what makes encryption necessary for these patterns, or null. A wildcard may take types that do not exist yet. */
export function encryptionNeed(patterns: readonly string[], eventTypes: readonly Named[]): string | null {
  for (const pattern of patterns) {
    if (pattern === '*' || pattern.startsWith('employee.')) return 'employee events';
    const needing = matchingTypes(pattern, eventTypes).find(({ encryptionRequired }) => encryptionRequired);
    if (needing !== undefined) return `events of type ${needing.name}`;
  }
  return null;
}
