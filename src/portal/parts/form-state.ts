/** What stands in a form's fields, and what was wrong with it. */
import type { FieldProblem, Refusal } from '../../kernel/refusal.ts';

export type FormState = {
  /** Every field with what it holds. */
  readonly fields: URLSearchParams;
  /** What a field holds: what was typed, or what it begins with. */
  value(name: string): string;
  /** What the fields of one name hold: chosen boxes, rows. */
  values(name: string): readonly string[];
  isChecked(name: string): boolean;
  /** What is wrong with a field, or null. A problem of `scopes[2]` or `oauth.tokenUrl` is one of `scopes` and of `oauth` too. */
  problem(name: string): string | null;
  /** Every problem, for the summary above the form; of a refusal that names no field the reason itself, under the name ''. */
  readonly problems: readonly FieldProblem[];
  /** The entity tag of the record as the form shows it; null for a form that is about none. It is sent back as `SEEN_FIELD`. */
  readonly seen: string | null;
  /** What a form that came too late should show, or null. */
  readonly overtaken: Overtaken | null;
};

/** A form whose record somebody changed before it was sent. */
export type Overtaken = {
  /** Fields that differ, named as the API names them. */
  readonly differences: readonly FieldDifference[];
  /** Names of fields with secrets that were typed and are not put back. */
  readonly notKept: readonly string[];
};
export type FieldDifference = { readonly field: string; readonly yours: unknown; readonly now: unknown };

/** The hidden field with the entity tag of the record as it was shown. */
export const SEEN_FIELD = 'seen';

export type Values = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

/** A form that nobody has sent yet, with these values; null and false are empty. */
export function newForm(values: Values = {}): FormState {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const item of value) form.append(name, item);
    else if (value === true) form.append(name, 'on');
    else if (value !== null && value !== undefined && value !== false) form.append(name, String(value));
  }
  return stateOf(form, []);
}

/** A form that was refused, with what was typed. */
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
