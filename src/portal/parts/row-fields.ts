/** Form fields in rows that repeat, for example headers with a name and a value each. */

import { attributes, type Html, html } from '../../http/html.ts';
import { type Choice, type FormState, idOf, isWithin, problemLine } from './fields.ts';
import { icon } from './mark.ts';
import { sentence } from './text.ts';

export type RowField = {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string | undefined;
  /** One of these in place of a text. An unticked box would not be sent, and the rows below it would move up. */
  readonly choices?: readonly Pick<Choice, 'value' | 'label'>[] | undefined;
};

/**
 * Repeated rows of the same fields, for example headers with a name and a value. The script adds and removes rows; without it there are
 * `spare` empty rows. Empty rows do not count (`readRows`).
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
  const row = (values: Record<string, string>, at: number): Html => {
    const isWrong = (member: string): boolean =>
      form.problems.some(({ field }) => field === `${name}[${at}]` || isWithin(field, `${name}[${at}].${member}`));
    const inputs = fields.map((one) => {
      const wrong = isWrong(one.name.slice(one.name.lastIndexOf('.') + 1));
      if (one.choices !== undefined) return rowChoice(one, one.choices, values[one.name] ?? '');
      return html`
        <label class="row-field">
          <span>${one.label}</span>
          <input${attributes({
            name: one.name,
            value: values[one.name] ?? '',
            placeholder: one.placeholder,
            title: values[one.name] ?? null,
            'aria-invalid': wrong ? 'true' : null,
            'aria-describedby': wrong ? `${idOf(`${name} ${at}`)}-problem` : null,
            spellcheck: 'false',
            autocomplete: 'off',
          })}>
        </label>
      `;
    });
    return html`
      <div class="row" data-row>
        ${inputs}
        <button type="button" class="icon-button" data-remove-row aria-label="Remove this row" hidden>
          ${icon('cross')}
        </button>
        ${rowProblem(form, name, at, fields)}
      </div>
    `;
  };
  const shown = filled.length > 0 ? filled : [{}];
  const empty = Array.from({ length: Math.min(spare, (max ?? Number.POSITIVE_INFINITY) - shown.length) }, () => ({}));
  const made = shown.map(row);
  const spares = empty.map((values, at) => row(values, shown.length + at));
  const ownProblem = form.problems.find(({ field }) => field === name)?.problem ?? null;
  const described = attributes({ id: idOf(name), 'data-max-rows': max });
  return html`
    <fieldset class="field field-wide" data-rows${described}>
      <legend>${label} <span class="optional">optional</span></legend>
      ${hint === undefined ? null : html`<p class="hint">${hint}</p>`}
      <div class="rows rows-${fields.length}">${made}<noscript>${spares}</noscript></div>
      <button type="button" class="button button-quiet" data-add-row hidden>
        ${icon('plus')}
        <span>Add another</span>
      </button>
      ${
        max === undefined
          ? null
          : html`<p class="hint" role="status" data-rows-full hidden>At most ${max} rows are possible.</p>`
      }
      ${problemLine(name, label, ownProblem)}
    </fieldset>
  `;
}

function rowChoice(
  { name, label }: RowField,
  choices: readonly Pick<Choice, 'value' | 'label'>[],
  chosen: string,
): Html {
  const options = choices.map(
    ({ value, label: text }) => html`<option${attributes({ value, selected: value === chosen })}>${text}</option>`,
  );
  return html`<label class="row-field"><span>${label}</span><select${attributes({ name })}>${options}</select></label>`;
}

/** The problems of one row, each with the label of its field. */
function rowProblem(form: FormState, name: string, at: number, fields: readonly RowField[]): Html | null {
  const row = `${name}[${at}]`;
  const problems = form.problems.filter(({ field }) => isWithin(field, row));
  if (problems.length === 0) return null;
  const labelOf = (field: string): string =>
    fields.find(({ name }) => field.startsWith(`${row}.${name.slice(name.lastIndexOf('.') + 1)}`))?.label ?? 'This row';
  return html`
    <p class="problem" id="${idOf(`${name} ${at}`)}-problem">
      ${problems.map(({ field, problem }) => `${sentence(`${labelOf(field)} ${problem}`)} `)}
    </p>
  `;
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
