/** The fields of an event type. */
import type { EventType } from '../../events/event.ts';
import { JSON_DEPTH_MAX } from '../../kernel/limits/limits.ts';
import { refuseField } from '../../kernel/refusal.ts';
import { isDeeperThan, isObject } from '../../kernel/validation.ts';
import { type Body, type FieldTable, lines, linesOf, text, tick } from '../field-table.ts';

type Schema = Readonly<Body> | null;

export function eventTypeFields(before: EventType | null): FieldTable {
  return {
    ...(before === null && {
      name: text({
        label: 'Name',
        isRequired: true,
        isCode: true,
        placeholder: 'order.created',
        hint: 'category.name, in lower case. It stays: webhooks subscribe by it, and receivers tell events apart by it.',
      }),
    }),
    description: text({ label: 'Description', hint: 'One sentence: what has happened.' }),
    encryptionRequired: tick({
      label: 'Goes out encrypted or not at all',
      title: 'Encryption',
      hint: 'For what only the customer may read. Webhooks that get it need a key; every employee type is so by itself.',
    }),
    dataSchema: lines(
      {
        label: 'JSON Schema of its data',
        title: 'JSON Schema',
        isCode: true,
        rows: 12,
        placeholder: '{"type": "object", "required": ["orderId"], "properties": {"orderId": {"type": "integer"}}}',
        takesFile: '.json',
        hint: 'Version 2020-12, or draft-07 where $schema says so. An event whose data does not satisfy it is refused when it is published, with the field named.',
      },
      {
        read: (sent, name) => readSchema(linesOf(sent, name)),
        fill: (value, name) => ({ [name]: isObject(value) ? JSON.stringify(value, null, 2) : '' }),
        compare: linesOf,
      },
    ),
  };
}

/** The patch (RFC 7396) that changes the schema of `before` to the entered one. */
export function schemaPatch(before: { readonly dataSchema: Schema }, { dataSchema: entered }: Body): unknown {
  if (!isObject(entered) || before.dataSchema === null) return entered;
  if (holdsNull(entered)) {
    throw refuseField(
      'dataSchema',
      'cannot be changed to one with a member that is null: make a new event type for it',
    );
  }
  return patchBetween(before.dataSchema, entered);
}

/** The merge patch from `from` to `to`. A merge patch cannot set a member to null, so `to` must not hold one. */
export function patchBetween(from: Readonly<Body>, to: Readonly<Body>): Body {
  const removed = Object.keys(from).filter((name) => !Object.hasOwn(to, name));
  const patch = new Map<string, unknown>(removed.map((name) => [name, null]));
  for (const [name, value] of Object.entries(to)) {
    const before = Object.hasOwn(from, name) ? from[name] : undefined;
    patch.set(name, isObject(value) && isObject(before) ? patchBetween(before, value) : value);
  }
  return Object.fromEntries(patch);
}

/** Whether a member at any depth is null. Items of lists may be null, because a patch replaces whole lists. */
function holdsNull(value: unknown): boolean {
  return isObject(value) && Object.values(value).some((member) => member === null || holdsNull(member));
}

/** The body is one more level. */
const DEPTH_MAX: number = JSON_DEPTH_MAX - 1;

function readSchema(text: string | undefined): Schema | undefined {
  if (text === undefined) return undefined;
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    // The message of the parser tells the place.
    throw refuseField('dataSchema', `is not JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (!isObject(schema)) throw refuseField('dataSchema', 'must be a JSON object');
  if (isDeeperThan(DEPTH_MAX, schema)) throw refuseField('dataSchema', `must not be nested deeper than ${DEPTH_MAX}`);
  return schema;
}
