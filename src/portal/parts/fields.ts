/** Form fields, each with its label, hint and problem. They work without the script. */
import { attributes, type Html, html } from '../../http/html.ts';
import type { FormState } from './form-state.ts';
import { sentence } from './sentence.ts';

export type Field = {
  /** The name in the form, from which the element's id is made. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string | Html | undefined;
  readonly isRequired?: boolean | undefined;
};

type Shown = Field & { readonly control: Html; readonly form: FormState; readonly isWide?: boolean | undefined };

/** A field around any control. The control has the attributes of `describedBy(form, field)`. */
function field({ name, label, hint, isRequired, control, form, isWide }: Shown): Html {
  const problem = form.problem(name);
  const optional = isRequired === true ? null : html` <span class="optional">optional</span>`;
  return html`<div class="${isWide === true ? 'field field-wide' : 'field'}"><label for="${idOf(name)}">${label}${optional}</label>${hint === undefined ? null : html`<p class="hint" id="${idOf(name)}-hint">${hint}</p>`}${control}${problemLine(name, label, problem)}</div>`;
}

export type TextField = Field & {
  readonly type?: 'text' | 'url' | 'email' | 'search' | 'password' | 'number' | 'datetime-local' | 'date' | undefined;
  readonly placeholder?: string | undefined;
  readonly autocomplete?: string | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly step?: number | undefined;
  readonly minlength?: number | undefined;
  /** Ids, header names and other text in no natural language. */
  readonly isCode?: boolean | undefined;
  /** The script fills this field from that one, in lower case with hyphens, until somebody edits it. */
  readonly madeFrom?: string | undefined;
  /** Suggestions of the browser while typing, each a value and its meaning. */
  readonly suggestions?: readonly (string | Pick<Choice, 'value' | 'label'>)[] | undefined;
};

/** One line. A typed password is never shown again. */
export function textField(form: FormState, options: TextField): Html {
  const {
    name,
    type = 'text',
    placeholder,
    autocomplete,
    min,
    max,
    step,
    minlength,
    isCode,
    madeFrom,
    suggestions,
  } = options;
  const list = suggestions === undefined ? null : `${idOf(name)}-list`;
  const control = html`<input${attributes({
    ...describedBy(form, options),
    ...{ type, placeholder, min, max, step, minlength, list },
    autocomplete: autocomplete ?? (type === 'password' ? 'off' : null),
    value: type === 'password' ? null : form.value(name),
    class: isCode === true ? 'code-input' : null,
    spellcheck: isCode === true ? 'false' : null,
    'data-made-from': madeFrom,
  })}>${suggestions === undefined ? null : html`<datalist id="${list ?? ''}">${suggestions.map(suggestion)}</datalist>`}`;
  return field({ ...options, form, control });
}

function suggestion(offered: string | Pick<Choice, 'value' | 'label'>): Html {
  const { value, label } = typeof offered === 'string' ? { value: offered, label: '' } : offered;
  return html`<option value="${value}">${label}</option>`;
}

/** Several lines. With `takesFile` the script can read a file into it. */
export function textArea(
  form: FormState,
  options: Field & {
    readonly rows?: number | undefined;
    readonly placeholder?: string | undefined;
    readonly isCode?: boolean | undefined;
    readonly takesFile?: string | undefined;
  },
): Html {
  const { name, rows = 4, placeholder, isCode, takesFile } = options;
  const control = html`<textarea${attributes({
    ...describedBy(form, options),
    ...{ rows, placeholder },
    class: isCode === true ? 'code-input' : null,
    spellcheck: isCode === true ? 'false' : null,
    'data-takes-file': takesFile,
  })}>
${form.value(name)}</textarea>`;
  return field({ ...options, form, control, isWide: true });
}

export type Choice = {
  readonly value: string;
  readonly label: string;
  readonly hint?: string | Html | undefined;
  readonly isDisabled?: boolean | undefined;
};

/** A drop-down list. Begin with `{value: '', label: 'Any'}` if it is optional. */
export function selectField(form: FormState, options: Field & { readonly choices: readonly Choice[] }): Html {
  const selected = form.value(options.name);
  const made = options.choices.map(
    ({ value, label, isDisabled }) =>
      html`<option${attributes({ value, selected: value === selected, disabled: isDisabled })}>${label}</option>`,
  );
  return field({ ...options, form, control: html`<select${attributes(describedBy(form, options))}>${made}</select>` });
}

/** The attributes that link a control to its label, hint and problem. */
export function describedBy(
  form: FormState,
  { name, hint, isRequired }: Pick<Field, 'name' | 'hint' | 'isRequired'>,
): Record<string, string | boolean | null> {
  const problem = form.problem(name);
  const ids = [hint === undefined ? null : `${idOf(name)}-hint`, problem === null ? null : `${idOf(name)}-problem`];
  const described = ids.filter((id) => id !== null).join(' ');
  return {
    id: idOf(name),
    name,
    required: isRequired === true,
    'aria-describedby': described === '' ? null : described,
    'aria-invalid': problem === null ? null : 'true',
  };
}

export function idOf(name: string): string {
  return `field-${name.replace(/[^A-Za-z0-9]+/g, '-')}`;
}

export function problemLine(name: string, label: string, problem: string | null): Html | null {
  return problem === null
    ? null
    : html`<p class="problem" id="${idOf(name)}-problem">${sentence(`${label} ${problem}`)}</p>`;
}
