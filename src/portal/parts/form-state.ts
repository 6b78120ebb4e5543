/** The state of a form: its values and problems. */
import type { FieldProblem, Refusal } from '../../kernel/refusal.ts';

export type FormState = {
  /** Every field with its values. */
  readonly fields: URLSearchParams;
  /** The value of a field: typed or initial. */
  value(name: string): string;
  /** The values of a repeated field: checked boxes, rows. */
  values(name: string): readonly string[];
  isChecked(name: string): boolean;
  /** The problem of a field, or null. A problem of `scopes[2]` or `oauth.tokenUrl` also counts for `scopes` and `oauth`. */
  problem(name: string): string | null;
  /** Every problem, for the summary above the form. A refusal without fields is one problem with the name ''. */
  readonly problems: readonly FieldProblem[];
  /** The entity tag of the record as shown, sent back as `SEEN_FIELD`; null for a form about no record. */
  readonly seen: string | null;
  /** The conflict with another change, or null. */
  readonly overtaken: Overtaken | null;
};

/** A form whose record somebody changed before it was sent. */
export type Overtaken = {
  /** Fields that differ, by their API names. */
  readonly differences: readonly FieldDifference[];
  /** Fields with typed secrets, which are not shown again. */
  readonly notKept: readonly string[];
};
export type FieldDifference = { readonly field: string; readonly yours: unknown; readonly now: unknown };

/** The hidden field with the entity tag of the record as shown. */
export const SEEN_FIELD = 'seen';

export type Values = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

/** A form with initial values. Null and false are empty. */
export function newForm(values: Values = {}): FormState {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const item of value) form.append(name, item);
    else if (value === true) form.append(name, 'on');
    else if (value !== null && value !== undefined && value !== false) form.append(name, String(value));
  }
  return stateOf(form, []);
}

/** A refused form with the typed values. */
export function refusedForm(form: URLSearchParams, refusal: Refusal): FormState {
  return stateOf(form, refusal.details ?? [{ field: '', problem: refusal.message }]);
}

function stateOf(form: URLSearchParams, problems: readonly FieldProblem[]): FormState {
  return {
    fields: form,
    value: (name) => form.get(name) ?? '',
    values: (name) => form.getAll(name),
    isChecked: (name) => form.has(name),
    problem: (name) => problems.find(({ field }) => isWithin(field, name))?.problem ?? null,
    problems,
    seen: null,
    overtaken: null,
  };
}

function isWithin(field: string, name: string): boolean {
  return field === name || field.startsWith(`${name}[`) || field.startsWith(`${name}.`);
}
