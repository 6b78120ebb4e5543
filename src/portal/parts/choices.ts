/** Check boxes, radio buttons and repeated rows. */
import { attributes, type Html, html } from '../../http/html.ts';
import { type Choice, describedBy, type Field, idOf, problemLine } from './fields.ts';
import type { FormState } from './form-state.ts';
import { icon } from './icon.ts';

/** Yes or no. Sent as `on`, or not at all: `form.has(name)`. */
export function checkbox(form: FormState, options: Omit<Field, 'isRequired'>): Html {
  const { name, label, hint } = options;
  const input = attributes({ ...describedBy(form, options), type: 'checkbox', checked: form.isChecked(name) });
  return html`<div class="field choice"><input${input}><div><label for="${idOf(name)}">${label}</label>${hint === undefined ? null : html`<p class="hint" id="${idOf(name)}-hint">${hint}</p>`}${problemLine(name, label, form.problem(name))}</div></div>`;
}

type Group = Field & {
  readonly choices: readonly Choice[];
  /** Distinguishes groups with the same field name. The group whose key is the name shows the problem. */
  readonly key?: string | undefined;
  /** Side by side rather than one below the other; for short words. */
  readonly isCompact?: boolean | undefined;
};

/** Any number of choices: `form.getAll(name)`. */
export function checkboxGroup(form: FormState, options: Group): Html {
  const chosen = new Set(form.values(options.name));
  return group(form, options, 'checkbox', (value) => chosen.has(value));
}

/** Exactly one of a few choices, each with a hint. */
export function radioGroup(form: FormState, options: Group): Html {
  const chosen = form.value(options.name);
  return group(form, options, 'radio', (value) => value === chosen);
}

function group(
  form: FormState,
  { name, label, hint, choices, isCompact, key = name }: Group,
  type: 'checkbox' | 'radio',
  isChosen: (value: string) => boolean,
): Html {
  const problem = key === name ? form.problem(name) : null;
  const made = choices.map(({ value, label: text, hint: more, isDisabled }, at) => {
    const id = `${idOf(key)}-${at}`;
    const input = attributes({
      ...{ id, name, type, value, checked: isChosen(value), disabled: isDisabled },
      'aria-describedby': more === undefined ? null : `${id}-hint`,
    });
    return html`<div class="choice"><input${input}><div><label for="${id}">${text}</label>${more === undefined ? null : html`<p class="hint" id="${id}-hint">${more}</p>`}</div></div>`;
  });
  const described = attributes({
    id: idOf(key),
    'aria-describedby': problem === null ? null : `${idOf(key)}-problem`,
  });
  return html`<fieldset class="field field-wide"${described}><legend>${label}</legend>${hint === undefined ? null : html`<p class="hint">${hint}</p>`}<div class="${isCompact === true ? 'choices choices-compact' : 'choices'}">${made}</div>${problemLine(name, label, problem)}</fieldset>`;
}

export type RowField = { readonly name: string; readonly label: string; readonly placeholder?: string | undefined };

/**
 * Repeated rows of the same fields, such as headers with a name and a value. Without the script there are `spare` empty rows. The script
 * adds and removes rows. Empty rows do not count (`readRows`).
 */
export function repeatableRows(
  form: FormState,
  {
    name,
    label,
    hint,
    fields,
    spare = 1,
    max,
  }: {
    /** The name in the API's problems: `customHeaders`. */
    readonly name: string;
    readonly label: string;
    readonly hint?: string | Html | undefined;
    readonly fields: readonly RowField[];
    readonly spare?: number | undefined;
    readonly max?: number | undefined;
  },
): Html {
  const filled = readRows(
    (field) => form.values(field),
    fields.map((one) => one.name),
  );
  const rows = [...filled, ...Array.from({ length: spare }, (): Record<string, string> => ({}))].slice(0, max);
  const made = rows.map((row, at) => {
    const inputs = fields.map(
      (one) =>
        html`<label class="row-field"><span>${one.label}</span><input${attributes({ name: one.name, value: row[one.name] ?? '', placeholder: one.placeholder, 'aria-invalid': form.problem(`${name}[${at}]`) === null ? null : 'true', spellcheck: 'false', autocomplete: 'off' })}></label>`,
    );
    return html`<div class="row" data-row>${inputs}<button type="button" class="icon-button" data-remove-row aria-label="Remove this row" hidden>${icon('cross')}</button></div>`;
  });
  const described = attributes({ id: idOf(name), 'data-max-rows': max });
  return html`<fieldset class="field field-wide" data-rows${described}><legend>${label} <span class="optional">optional</span></legend>${hint === undefined ? null : html`<p class="hint">${hint}</p>`}<div class="rows">${made}</div><button type="button" class="button button-quiet" data-add-row hidden>${icon('plus')}<span>Add another</span></button>${max === undefined ? null : html`<p class="hint" role="status" data-rows-full hidden>There can be ${max} at most.</p>`}${problemLine(name, label, form.problem(name))}</fieldset>`;
}

/** The values of repeated rows without the empty rows. `read` is `(name) => form.getAll(name)`. */
export function readRows(
  read: (name: string) => readonly string[],
  names: readonly string[],
): Record<string, string>[] {
  const columns = names.map(read);
  const count = Math.max(0, ...columns.map(({ length }) => length));
  return Array.from({ length: count }, (_, at) =>
    Object.fromEntries(names.map((name, column) => [name, columns[column]?.[at]?.trim() ?? ''])),
  ).filter((row) => Object.values(row).some((text) => text !== ''));
}
