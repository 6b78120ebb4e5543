/**
 * Forms about one record. Each carries the entity tag of the record as it was shown, and is refused with 412 if someone has changed the
 * record since (contract §4.3). The form is then shown again with both values of each field that differs, and with the new tag.
 */
import { isDeepStrictEqual } from 'node:util';
import { Refusal, type RefusalCode } from '../../kernel/refusal.ts';
import { isObject } from '../../kernel/validation.ts';
import type { Administration } from '../../resources/administration.ts';
import { entityTag } from '../../resources/entity-tag.ts';
import { type PageCall, type PageResult, pathId } from '../frame/call.ts';
import { FORGERY_FIELD } from '../frame/forgery.ts';
import type { FormDefinition } from '../frame/page.ts';
import { type FieldDifference, type FormState, newForm, refusedForm, SEEN_FIELD } from '../parts/fields.ts';

type Fields = Readonly<Record<string, unknown>>;

type RecordForm<Rec> = {
  readonly administration: Pick<Administration<Rec>, 'get' | 'shown'>;
  /** The settings that people decide on, if the service itself changes the rest; default: the whole record. */
  settings?(record: Rec): unknown;
  /** The initial fields; default: none. */
  fill?(record: Rec): FormState | Promise<FormState>;
  view(call: PageCall, record: Rec, state: FormState): PageResult | Promise<PageResult>;
  /** Handles the form that was sent. `call.acting` holds the tag. */
  respond(call: PageCall, record: Rec): Promise<PageResult>;
  /** The refused form without the secrets that were typed. */
  refused?(typed: URLSearchParams, refusal: Refusal, record: Rec): FormState | Promise<FormState>;
  /** The values of a form by field, to show what differs from the record. The order of lists does not count. */
  compared?(fields: URLSearchParams, record: Rec): Fields | Promise<Fields>;
};

/** The form at a path with `{id}`, for `pages.form`. */
export function recordForm<Rec>({
  administration,
  settings = administration.shown,
  fill = () => newForm(),
  view,
  respond,
  refused = (typed, refusal) => refusedForm(typed, refusal),
  compared = () => ({}),
}: RecordForm<Rec>): FormDefinition {
  const found = (call: PageCall): Promise<Rec> => administration.get(pathId(call));
  const tagOf = (record: Rec): string => entityTag(settings(record));

  const respondTo = async (call: PageCall, retries = RETRIES): Promise<PageResult> => {
    const record = await found(call);
    const seen = call.form.get(SEEN_FIELD);
    if (seen === null) return respond(call, record);
    const isAsShown = tagOf(record) === seen;
    const acting = { ...call.acting, ifMatch: [isAsShown ? entityTag(administration.shown(record)) : seen] };
    try {
      return await respond({ ...call, acting }, record);
    } catch (error) {
      const isRefused = error instanceof Refusal && error.code === 'precondition_failed';
      if (isRefused && isAsShown && retries > 0) return respondTo(call, retries - 1);
      throw error;
    }
  };

  const overtaken = async (call: PageCall, record: Rec, typed: FormState): Promise<FormState> => {
    const [yours, now] = await Promise.all([typed, await fill(record)].map(({ fields }) => compared(fields, record)));
    const notKept = [...call.form].flatMap(([name, text]) =>
      text === '' || name === FORGERY_FIELD || typed.fields.has(name) ? [] : [name],
    );
    return {
      ...typed,
      problems: [],
      problem: () => null,
      seen: tagOf(record),
      overtaken: { differences: fieldDifferences(yours ?? {}, now ?? {}), notKept },
    };
  };

  return {
    show: async (call) => {
      const record = await found(call);
      return view(call, record, { ...(await fill(record)), seen: tagOf(record) });
    },
    respond: (call) => respondTo(call),
    invalid: async (call, refusal) => {
      if (OWN_PAGES.has(refusal.code)) return null;
      const record = await found(call);
      const typed = await refused(call.form, refusal, record);
      if (refusal.code === 'precondition_failed') return view(call, record, await overtaken(call, record, typed));
      return view(call, record, { ...typed, seen: call.form.get(SEEN_FIELD) });
    },
  };
}

/** Attempts when the service itself changes the record between two reads. */
const RETRIES = 3;

const OWN_PAGES: ReadonlySet<RefusalCode> = new Set(['not_found', 'read_only']);

/** Members of objects count as fields, such as `retry.maxAttempts`. */
export function fieldDifferences(yours: Fields, now: Fields): FieldDifference[] {
  const [mine, theirs] = [flat(yours), flat(now)];
  const names = [...new Set([...mine.keys(), ...theirs.keys()])];
  return names.flatMap((field) => {
    const one = { field, yours: mine.get(field) ?? null, now: theirs.get(field) ?? null };
    return isDeepStrictEqual(one.yours, one.now) ? [] : [one];
  });
}

function flat(fields: Fields, path = ''): Map<string, unknown> {
  return new Map(
    Object.entries(fields).flatMap(([name, value]): [string, unknown][] =>
      isObject(value) ? [...flat(value, `${path}${name}.`)] : [[path + name, plain(value)]],
    ),
  );
}

/** Empty equals absent, and the order of a list does not count. */
function plain(value: unknown): unknown {
  if (value === '' || (Array.isArray(value) && value.length === 0)) return null;
  return Array.isArray(value) ? value.toSorted() : value;
}
