/** Whole forms: the summary of problems, groups of fields, and buttons. Also the filters above a list. */
import { attributes, type Html, html } from '../../http/html.ts';
import { type ButtonKind, linkButton, submitButton } from './button.ts';
import { idOf } from './fields.ts';
import type { FormState } from './form-state.ts';
import { icon } from './icon.ts';
import { overtakenNotice, seenField } from './overtaken.ts';
import { sentence } from './sentence.ts';

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
  return html`<form method="post" action="${action}" class="form" novalidate data-once>${csrf}${seenField(state)}${overtakenNotice(state, labels)}${errorSummary(state, labels, title)}${content}<div class="buttons form-buttons">${submitButton({ label: submit, kind })}${back}</div></form>`;
}

/** The problems, each with a link to its field. It takes the focus, so that screen readers read it first. */
export function errorSummary(
  state: FormState,
  labels: Readonly<Record<string, string>> = {},
  title = 'That could not be saved',
): Html | null {
  if (state.problems.length === 0) return null;
  const items = state.problems.map(({ field, problem }) => {
    if (field === '') return html`<li>${sentence(problem)}</li>`;
    const [name = ''] = field.split(/[.[]/, 1);
    return html`<li><a href="#${idOf(labels[field] === undefined ? name : field)}">${labels[field] ?? labels[name] ?? field} ${problem}</a></li>`;
  });
  return html`<div class="error-summary" role="alert" tabindex="-1" data-focus><p class="notice-title">${icon('warning')}${title}</p><ul>${items}</ul></div>`;
}

/** Fields that belong together. */
export function fieldGroup(title: string, lead: string | Html | null, fields: readonly (Html | null)[]): Html {
  return html`<fieldset class="field-group"><legend>${title}</legend>${lead === null ? null : html`<p class="lead">${lead}</p>`}<div class="fields">${fields}</div></fieldset>`;
}

/** Settings that few need: collapsed unless one of them has a problem. */
export function moreFields(
  title: string,
  state: FormState,
  names: readonly string[],
  fields: readonly (Html | null)[],
): Html {
  const isOpen = names.some((name) => state.problem(name) !== null);
  return html`<details class="more-fields"${attributes({ open: isOpen })}><summary>${title}</summary><div class="fields">${fields}</div></details>`;
}

/**
 * Filters above a list: a form that requests the same path with its fields in the query. With the script, every change replaces only the
 * element `target` and updates the URL.
 */
export function filterForm({
  path,
  target,
  fields,
  query,
  submit = 'Filter',
}: {
  readonly path: string;
  /** A selector, such as `#results`. */
  readonly target: string;
  readonly fields: readonly Html[];
  readonly query: URLSearchParams;
  readonly submit?: string | undefined;
}): Html {
  const isFiltered = [...query].some(([name, value]) => name !== 'cursor' && value !== '');
  const swap = attributes({
    'hx-get': path,
    'hx-target': target,
    'hx-swap': 'outerHTML',
    'hx-push-url': 'true',
    'hx-trigger': 'submit, change, input delay:300ms changed',
    'hx-sync': 'this:replace',
  });
  return html`<form method="get" action="${path}" class="filters" role="search" data-leave-out-empty${swap}><div class="filter-fields">${fields}</div><div class="buttons">${submitButton({ label: submit, kind: 'plain', icon: 'search' })}${isFiltered ? linkButton({ href: path, label: 'Clear', kind: 'quiet' }) : null}</div></form>`;
}
