/** Form fields, each with its label, hint and problem, and the state of a form. They work without the script. */

import { attributes, type Html, html } from '../../http/html.ts';
import { type FieldProblem, type Refusal, saidAt } from '../../kernel/refusal.ts';
import { sentence } from './text.ts';

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

/** A form whose record someone changed before it was sent. */
type Overtaken = {
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

/** A refused form with the typed values. `placed` moves a problem to the field of the form that caused it. */
export function refusedForm(
  form: URLSearchParams,
  refusal: Refusal,
  placed: (problem: FieldProblem) => FieldProblem = (problem) => problem,
): FormState {
  const { message, details } = saidAt('portal', refusal);
  const problems = details?.map(placed) ?? [{ field: '', problem: message }];
  return stateOf(
    form,
    problems.map(({ field, problem }) => ({ field, problem: problemText(problem) })),
  );
}

/** The same form with its problems only beside their fields: without the summary, which takes the focus. */
export function besideFields(state: FormState): FormState {
  return { ...state, problems: [] };
}

/** A problem in the API's words as a form says it, after the label of the field. */
export function problemText(problem: string): string {
  return (
    IN_WORDS[problem] ?? (/^is not the id of an? \w+$/.test(problem) ? 'does not exist: choose another one' : problem)
  );
}

/** A form with the values as they were typed, to be shown again without a problem. */
export function keptForm(form: URLSearchParams): FormState {
  return stateOf(form, []);
}

/** The API's problems of an empty text and of an empty list. */
const IN_WORDS: Readonly<Record<string, string>> = {
  'must have at least 1 character': 'is required',
  'must have at least 1 item': 'are required: choose at least one',
  'must be a string': 'must be text',
};

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

export function isWithin(field: string, name: string): boolean {
  return field === name || field.startsWith(`${name}[`) || field.startsWith(`${name}.`);
}

export type Field = {
  /** The name in the form, from which the element's id is made. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string | Html | undefined;
  readonly isRequired?: boolean | undefined;
  /** Has a value from the beginning: it is not marked as optional, and an empty one is that value again. */
  readonly isPreset?: boolean | undefined;
};

type Shown = Field & { readonly control: Html; readonly form: FormState; readonly isWide?: boolean | undefined };

/** A field around any control. The control has the attributes of `describedBy(form, field)`. */
function field({ name, label, hint, isRequired, isPreset, control, form, isWide }: Shown): Html {
  const problem = form.problem(name);
  const optional = isRequired === true || isPreset === true ? null : html` <span class="optional">optional</span>`;
  return html`
    <div class="${isWide === true ? 'field field-wide' : 'field'}">
      <label for="${idOf(name)}">${label}${optional}</label>
      ${hint === undefined ? null : html`<p class="hint" id="${idOf(name)}-hint">${hint}</p>`}
      ${control}
      ${problemLine(name, label, problem)}
    </div>
  `;
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
  /** The script fills this field from that one, in lower case with hyphens, until someone edits it. */
  readonly madeFrom?: string | undefined;
  /** The script puts the browser's colour picker beside it. */
  readonly picksColour?: boolean | undefined;
  /** Suggestions of the browser while typing, each a value and its meaning. */
  readonly suggestions?: readonly Suggestion[] | undefined;
  /** A path that returns the suggestions for the typed text (`suggestionOptions`). The script loads them while people type. */
  readonly suggestFrom?: string | undefined;
  /** The script gives it the focus as soon as it is shown. */
  readonly takesFocus?: boolean | undefined;
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
    picksColour,
    suggestions,
    suggestFrom,
    takesFocus,
  } = options;
  const list = suggestions === undefined ? null : `${idOf(name)}-list`;
  const control = html`
    <input${attributes({
      ...describedBy(form, options),
      type,
      placeholder,
      min,
      max,
      step,
      minlength,
      list,
      autocomplete: autocomplete ?? (type === 'password' ? 'off' : null),
      value: type === 'password' ? null : type === 'datetime-local' ? utcText(form.value(name)) : form.value(name),
      class: isCode === true ? 'code-input' : null,
      spellcheck: isCode === true ? 'false' : null,
      'data-made-from': madeFrom,
      'data-picks-colour': picksColour,
      'data-focus': takesFocus,
      ...(suggestFrom !== undefined && {
        'data-hx-get': suggestFrom,
        'data-hx-trigger': 'input changed delay:200ms',
        'data-hx-target': `#${list}`,
        'data-hx-swap': 'innerHTML',
        'data-hx-sync': 'this:replace',
      }),
    })}>
    ${
      suggestions === undefined ? null : html`<datalist id="${list ?? ''}">${suggestionOptions(suggestions)}</datalist>`
    }
  `;
  return field({ ...options, form, control });
}

/** An instant in UTC as `datetime-local` takes it: without seconds and zone. Other text stays, so that its problem can be shown. */
function utcText(value: string): string {
  const at = /Z$/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? value : new Date(at).toISOString().slice(0, 16);
}

export type Suggestion = string | Pick<Choice, 'value' | 'label'>;

export function suggestionOptions(suggestions: readonly Suggestion[]): Html {
  const options = suggestions.map((offered) => {
    const { value, label } = typeof offered === 'string' ? { value: offered, label: '' } : offered;
    return html`<option value="${value}">${label}</option>`;
  });
  return html`${options}`;
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
  const control = html`
    <textarea${attributes({
      ...describedBy(form, options),
      rows,
      placeholder,
      class: isCode === true ? 'code-input' : null,
      spellcheck: isCode === true ? 'false' : null,
      'data-takes-file': takesFile,
    })}>
      ${'\n'}
      ${form.value(name)}
    </textarea>
  `;
  return field({ ...options, form, control, isWide: true });
}

export type Choice = {
  readonly value: string;
  readonly label: string;
  readonly hint?: string | Html | undefined;
  readonly isDisabled?: boolean | undefined;
};

/** `isSearched`: the script makes a field with suggestions of it if it is long. */
export type SelectField = Field & { readonly choices: readonly Choice[]; readonly isSearched?: boolean | undefined };

/** A drop-down list. Begin with `{value: '', label: 'Any'}` if it is optional. */
export function selectField(form: FormState, options: SelectField): Html {
  const selected = form.value(options.name);
  const made = options.choices.map(
    ({ value, label, isDisabled }) =>
      html`<option${attributes({ value, selected: value === selected, disabled: isDisabled })}>${label}</option>`,
  );
  // HTML allows `required` only with an empty first choice. Without one, nothing is left empty.
  const described = describedBy(form, {
    ...options,
    isRequired: options.isRequired && options.choices[0]?.value === '',
  });
  const isRequired = options.isRequired === true || options.choices[0]?.value !== '';
  return field({
    ...options,
    isRequired,
    form,
    control: html`<select${attributes({ ...described, 'data-searched': options.isSearched })}>${made}</select>`,
  });
}

/** The attributes that link a control to its label, hint and problem. */
function describedBy(
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

/** Yes or no. Sent as `on`, or not at all: `form.has(name)`. */
export function checkbox(form: FormState, options: Omit<Field, 'isRequired'>): Html {
  const { name, label, hint } = options;
  const input = attributes({ ...describedBy(form, options), type: 'checkbox', checked: form.isChecked(name) });
  return html`
    <div class="field choice">
      <input${input}>
      <div>
        <label for="${idOf(name)}">${label}</label>
        ${hint === undefined ? null : html`<p class="hint" id="${idOf(name)}-hint">${hint}</p>`}
        ${problemLine(name, label, form.problem(name))}
      </div>
    </div>
  `;
}

type Group = Field & {
  readonly choices: readonly Choice[];
  /** Distinguishes groups with the same field name. The group whose key is the name shows the problem. */
  readonly key?: string | undefined;
  /** Side by side rather than one below the other; for short words. */
  readonly isCompact?: boolean | undefined;
  /** Its label stands above it already. Screen readers read it. */
  readonly isLabelHidden?: boolean | undefined;
  /** The subject of its problem, if the label is the name of a part. */
  readonly problemLabel?: string | undefined;
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
  { name, label, hint, choices, isCompact, isLabelHidden, problemLabel = label, key = name }: Group,
  type: 'checkbox' | 'radio',
  isChosen: (value: string) => boolean,
): Html {
  const problem = key === name ? form.problem(name) : null;
  const made = choices.map(({ value, label: text, hint: more, isDisabled }, at) => {
    const id = `${idOf(key)}-${at}`;
    const input = attributes({
      id,
      name,
      type,
      value,
      checked: isChosen(value),
      disabled: isDisabled,
      'aria-describedby': more === undefined ? null : `${id}-hint`,
    });
    return html`
      <div class="choice">
        <input${input}>
        <div>
          <label for="${id}">${text}</label>
          ${more === undefined ? null : html`<p class="hint" id="${id}-hint">${more}</p>`}
        </div>
      </div>
    `;
  });
  const described = attributes({
    id: idOf(key),
    'aria-describedby': problem === null ? null : `${idOf(key)}-problem`,
  });
  return html`
    <fieldset class="field field-wide"${described}>
      <legend${attributes({ class: isLabelHidden === true ? 'visually-hidden' : null })}>${label}</legend>
      ${hint === undefined ? null : html`<p class="hint">${hint}</p>`}
      ${problemLine(name, problemLabel, problem)}
      <div class="${isCompact === true ? 'choices choices-compact' : 'choices'}">${made}</div>
    </fieldset>
  `;
}
