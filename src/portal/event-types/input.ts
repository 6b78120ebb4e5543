/** What the form of an event type sends, as the bodies that the use cases take. */
import { JSON_DEPTH_MAX } from '../../kernel/limits/limits.ts';
import { refuseField } from '../../kernel/refusal.ts';
import { isDeeperThan, isObject } from '../../kernel/validation.ts';
import { linesOf } from '../endpoints/input.ts';

type Body = Record<string, unknown>;
type Schema = Readonly<Record<string, unknown>> | null;

/** Throws a refusal of `dataSchema` where that is no JSON object. */
export function eventTypeBody(form: URLSearchParams): Body & { readonly dataSchema: Schema } {
  return {
    description: form.get('description')?.trim() ?? '',
    encryptionRequired: form.has('encryptionRequired'),
    dataSchema: readSchema(linesOf(form, 'dataSchema')),
  };
}

/** What a form sends, with the schema as it was typed. */
export function comparedEventType(form: URLSearchParams): Body {
  return {
    description: form.get('description')?.trim() ?? '',
    encryptionRequired: form.has('encryptionRequired'),
    dataSchema: linesOf(form, 'dataSchema') ?? null,
  };
}

/** The merge patch (RFC 7396) that leads from `before` to what was typed. */
export function eventTypePatchOf(form: URLSearchParams, before: { readonly dataSchema: Schema }): Body {
  const body = eventTypeBody(form);
  if (body.dataSchema === null || before.dataSchema === null) return body;
  if (holdsNull(body.dataSchema)) {
    throw refuseField(
      'dataSchema',
      'cannot be changed to one with a member that is null: make a new event type for it',
    );
  }
  return { ...body, dataSchema: patchBetween(before.dataSchema, body.dataSchema) };
}

/** The patch that makes `to` of `from`. `to` must hold no null as a member: a merge patch cannot say that. */
export function patchBetween(from: Readonly<Body>, to: Readonly<Body>): Body {
  const removed = Object.keys(from).filter((name) => !Object.hasOwn(to, name));
  const patch = new Map<string, unknown>(removed.map((name) => [name, null]));
  for (const [name, value] of Object.entries(to)) {
    const before = Object.hasOwn(from, name) ? from[name] : undefined;
    patch.set(name, isObject(value) && isObject(before) ? patchBetween(before, value) : value);
  }
  return Object.fromEntries(patch);
}

/** Whether a member at any depth is null. Items of lists may be: a patch replaces lists as a whole. */
function holdsNull(value: unknown): boolean {
  return isObject(value) && Object.values(value).some((member) => member === null || holdsNull(member));
}

/** The body around it is a level too. */
const DEPTH_MAX: number = JSON_DEPTH_MAX - 1;

function readSchema(text: string | undefined): Schema {
  if (text === undefined) return null;
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    // The parser shows the place that it stumbled over.
    throw refuseField('dataSchema', `is not JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (!isObject(schema)) throw refuseField('dataSchema', 'must be a JSON object');
  if (isDeeperThan(DEPTH_MAX, schema)) throw refuseField('dataSchema', `must not be nested deeper than ${DEPTH_MAX}`);
  return schema;
}
