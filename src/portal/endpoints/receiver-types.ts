/** Puts the event types that a receiver gets into the example, with the types of their samples. Pure. */
import { type EventType, STATUS_CATEGORY } from '../../domain/event.ts';
import { isObject } from '../../kernel/validation.ts';

type Sampled = Pick<EventType, 'name' | 'sample' | 'builtIn'>;

/** Event types in an example. */
const TYPES_MAX = 3;
const LINE_MAX = 100;

const EVENTS = /^type Events = .*;$/m;
const PRINTED = /for \(const \{ messageId, data \} of records\) console\.log\(.*\);/;

/** The example of the documentation with these types in place of its own; as it is if none has a sample. */
export function withTypes(code: string, eventTypes: readonly Sampled[]): string {
  const known = eventTypes.filter(({ name, sample }) => sample !== null && !name.startsWith(STATUS_CATEGORY));
  // Those of the operator first.
  const shown = known.toSorted((a, b) => Number(a.builtIn) - Number(b.builtIn)).slice(0, TYPES_MAX);
  if (shown.length === 0) return code;
  const members = shown.map(({ name, sample }) => `${JSON.stringify(name).replaceAll('"', "'")}: ${typeOf(sample)}`);
  const line = `type Events = { ${members.join('; ')} };`;
  const events =
    line.length <= LINE_MAX ? line : `type Events = {\n${members.map((member) => `  ${member};\n`).join('')}};`;
  return code
    .replace(EVENTS, () => events)
    .replace(
      PRINTED,
      () => 'for (const { messageId, eventType, data } of records) console.log(messageId, eventType, data);',
    );
}

/** The TypeScript type of a value in a sample. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'unknown[]' : `${typeOf(value[0])}[]`;
  if (isObject(value)) {
    const members = Object.entries(value).map(([name, member]) => `${propertyName(name)}: ${typeOf(member)}`);
    return members.length === 0 ? 'object' : `{ ${members.join('; ')} }`;
  }
  return value === null ? 'unknown' : typeof value;
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
