/** The page that asks before an action that cannot be undone. It works without the script. */
import { type Html, html } from '../../http/html.ts';
import type { View } from '../call.ts';
import { linkButton, submitButton } from './button.ts';
import type { FormState } from './form-state.ts';
import { type PageHeader, pageHeader } from './header.ts';
import { overtakenNotice, seenField } from './overtaken.ts';

export type Confirmation = {
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

export function confirmPage({ title, crumbs, text, form, fields, action, csrf, submit, cancel }: Confirmation): View {
  const content = html`${pageHeader({ title, crumbs })}<div class="section confirm"><div class="section-body">${form === undefined ? null : overtakenNotice(form)}<div class="confirm-text">${text}</div><form method="post" action="${action}" class="form" data-once>${csrf}${form === undefined ? null : seenField(form)}${fields ?? null}<div class="buttons form-buttons">${submitButton({ label: submit, kind: 'danger' })}${linkButton({ href: cancel, label: 'Cancel' })}</div></form></div></div>`;
  return { title, content };
}
