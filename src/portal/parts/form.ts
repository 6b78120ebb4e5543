/** Whole forms: the summary of problems, groups of fields, and buttons; the page that asks before an action. */
import { attributes, type Html, html } from '../../http/html.ts';
import { value } from './differences.ts';
import { type FormState, idOf, SEEN_FIELD } from './fields.ts';
import { type ButtonKind, linkButton, type PageHeader, pageHeader, submitButton } from './header.ts';
import { table } from './list.ts';
import { icon } from './mark.ts';
import { sentence } from './text.ts';

export type Form = {
  readonly action: string;
  readonly csrf: Html;
  readonly form: FormState;
  readonly content: Html;
  readonly submit: string;
  readonly kind?: ButtonKind | undefined;
  /** The target of the Cancel button. */
  readonly cancel?: string | undefined;
  /** Above the problems; default `That could not be saved`. */
  readonly title?: string | undefined;
  /** Labels of fields for the summary. Other fields show their names. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
};

/** A form that posts. The browser's validation is off: problems show beside the fields. */
export function form({
  title,
  action,
  csrf,
  form: state,
  content,
  submit,
  kind = 'primary',
  cancel,
  labels = {},
}: Form): Html {
  const back = cancel === undefined ? null : linkButton({ href: cancel, label: 'Cancel' });
  return html`
    <form method="post" action="${action}" class="form" novalidate data-once>
      ${csrf}
      ${seenField(state)}
      ${overtakenNotice(state, labels)}
      ${errorSummary(state, labels, title)}
      ${content}
      <div class="buttons form-buttons">${submitButton({ label: submit, kind })}${back}</div>
    </form>
  `;
}

/** The problems, each with a link to its field. The notice gets the focus, so that screen readers read it first. */
export function errorSummary(
  state: FormState,
  labels: Readonly<Record<string, string>> = {},
  title = 'That could not be saved',
): Html | null {
  if (state.problems.length === 0) return null;
  const items = state.problems.map(({ field, problem }) => {
    if (field === '') return html`<li>${sentence(problem)}</li>`;
    const [name = ''] = field.split(/[.[]/, 1);
    const isLabelled = labels[field] !== undefined;
    // A place in an object that one field holds.
    const place = isLabelled || field.charAt(name.length) !== '.' ? '' : `${field.slice(name.length + 1)} `;
    return html`
      <li>
        <a href="#${idOf(isLabelled ? field : name)}">${labels[field] ?? labels[name] ?? field} ${place}${problem}</a>
      </li>
    `;
  });
  return html`
    <div class="error-summary" role="alert" tabindex="-1" data-focus>
      <p class="notice-title">${icon('warning')}${title}</p>
      <ul>${items}</ul>
    </div>
  `;
}

/** Fields that belong together. */
export function fieldGroup(title: string, lead: string | Html | null, fields: readonly (Html | null)[]): Html {
  return html`
    <fieldset class="field-group">
      <legend>${title}</legend>
      ${lead === null ? null : html`<p class="lead">${lead}</p>`}
      <div class="fields">${fields}</div>
    </fieldset>
  `;
}

/** Settings that few need: collapsed unless one of them has a problem or is set. */
export function moreFields(
  title: string,
  state: FormState,
  names: readonly string[],
  fields: readonly (Html | null)[],
  isSet: (name: string) => boolean = () => false,
): Html {
  const isOpen = names.some((name) => state.problem(name) !== null || isSet(name));
  return html`
    <details class="more-fields"${attributes({ open: isOpen })}>
      <summary>${title}</summary>
      <div class="fields">${fields}</div>
    </details>
  `;
}

type Confirmation = {
  /** The question: `Delete the endpoint shop?` */
  readonly title: string;
  readonly crumbs?: PageHeader['crumbs'];
  /** The consequences, and that they cannot be undone. */
  readonly text: string | Html;
  /** The state of the form about the record. */
  readonly form?: FormState | undefined;
  /** Further fields of the form. */
  readonly fields?: Html | undefined;
  /** The path of the form; may be the path of the page. */
  readonly action: string;
  readonly csrf: Html;
  /** The label of the button: `Delete the endpoint`. */
  readonly submit: string;
  readonly cancel: string;
};

export function confirmPage({ title, crumbs, text, form, fields, action, csrf, submit, cancel }: Confirmation): {
  readonly title: string;
  readonly content: Html;
} {
  const content = html`
    ${pageHeader({ title, crumbs })}
    <div class="section confirm">
      <div class="section-body">
        ${form === undefined ? null : overtakenNotice(form)}
        <div class="confirm-text">${text}</div>
        <form method="post" action="${action}" class="form" data-once>
          ${csrf}
          ${form === undefined ? null : seenField(form)}
          ${fields ?? null}
          <div class="buttons form-buttons">
            ${submitButton({ label: submit, kind: 'danger' })}
            ${linkButton({ href: cancel, label: 'Cancel' })}
          </div>
        </form>
      </div>
    </div>
  `;
  return { title, content };
}

function seenField({ seen }: FormState): Html | null {
  return seen === null ? null : html`<input type="hidden" name="${SEEN_FIELD}" value="${seen}">`;
}

/**
 * Says that nothing was saved, and shows both values of each field that differs. The notice gets the focus, so that screen readers read it
 * first.
 */
function overtakenNotice({ overtaken }: FormState, labels: Readonly<Record<string, string>> = {}): Html | null {
  if (overtaken === null) return null;
  const { differences, notKept } = overtaken;
  const labelOf = (field: string): string => labels[field] ?? labels[field.split('.', 1)[0] ?? ''] ?? field;
  const typeAgain = notKept.length === 0 ? null : html`<p>Enter again: ${notKept.map(labelOf).join(', ')}.</p>`;
  return html`
    <div class="error-summary overtaken">
      <div role="alert" tabindex="-1" data-focus>
        <p class="notice-title">${icon('warning')}This was changed after you opened it</p>
        <p>
          ${
            differences.length === 0
              ? 'Nothing was done. Look at the current settings before you send this again.'
              : 'Nothing was saved. Compare the values. If you send this again, yours replace the current ones.'
          }
        </p>
        ${typeAgain}
      </div>
      ${
        differences.length === 0
          ? null
          : table({
              caption: 'What differs',
              columns: [{ label: 'Field', kind: 'main' }, { label: 'Yours' }, { label: 'Now' }],
              rows: differences.map(({ field, yours, now }) => [labelOf(field), cell(yours), cell(now)]),
            })
      }
    </div>
  `;
}

/** Lists show one item a line. */
function cell(of: unknown): Html {
  return Array.isArray(of) ? html`${of.map((item) => html`<div>${value(item)}</div>`)}` : value(of);
}

/** Shows the answer to the whole form in the element `target`. Without the script, the form is sent to the page `action`. */
export function previewButton({ action, target, label }: Record<'action' | 'target' | 'label', string>): Html {
  return html`
    <button
      class="button button-plain"
      ${attributes({
        formaction: action,
        formnovalidate: true,
        'data-hx-post': action,
        'data-hx-include': 'closest form',
        'data-hx-target': `#${target}`,
        'data-hx-swap': 'innerHTML',
        'data-hx-sync': 'this:replace',
      })}
    >
      ${icon('tester')}
      <span>${label}</span>
    </button>
  `;
}

const AFTER_CHANGES = "change from:'closest form', input delay:400ms from:'closest form'";

/** The attributes of an element of a form: the script replaces its content with that of `path`, for the values in the form. */
export function followsForm(path: string, trigger: string = AFTER_CHANGES): Html {
  return attributes({
    'data-hx-post': path,
    'data-hx-trigger': trigger,
    'data-hx-include': 'closest form',
    'data-hx-swap': 'innerHTML',
    'data-hx-sync': 'this:replace',
  });
}

/**
 * A sentence that says what the values of a form will do. `path` answers with it for other values. On a wide screen it is beside the form
 * and stays in sight; the style hides it while it is empty.
 */
export function formSummary(title: string, text: string | Html, path: string): Html {
  return html`
    <div class="form-summary">
      <div class="form-summary-box">
        <h2>${title}</h2>
        <div aria-live="polite"${followsForm(path)}>${text}</div>
      </div>
    </div>
  `;
}

type SummaryView = { readonly title: string; readonly content: Html; readonly partial: Html };

/** The answer with such a sentence: a page of its own without the script. */
export function summaryView(title: string, text: string | Html): SummaryView {
  const partial = html`${text}`;
  return { title, content: html`${pageHeader({ title })}<div>${partial}</div>`, partial };
}
