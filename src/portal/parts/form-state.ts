/** What stands in a form's fields, and what was wrong with it. */
import type { FieldProblem, Refusal } from '../../kernel/refusal.ts';

export type FormState = {
  /** What a field holds: what was typed, or what it begins with. */
  value(name: string): string;
  /** What the fields of one name hold: chosen boxes, rows. */
  values(name: string): readonly string[];
  isChecked(name: string): boolean;
  /** What is wrong with a field, or null. A problem of `scopes[2]` or `oauth.tokenUrl` is one of `scopes` and of `oauth` too. */
  problem(name: string): string | null;
  /** Every problem, for the summary above the form; of a refusal that names no field the reason itself, under the name ''. */
  readonly problems: readonly FieldProblem[];
};

type Values = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

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
    value: (name) => form.get(name) ?? '',
    values: (name) => form.getAll(name),
    isChecked: (name) => form.has(name),
    problem: (name) => problems.find(({ field }) => isWithin(field, name))?.problem ?? null,
    problems,
  };
}

function isWithin(field: string, name: string): boolean {
  return field === name || field.startsWith(`${name}[`) || field.startsWith(`${name}.`);
}
