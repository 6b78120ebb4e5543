/** Asking before what cannot be undone: a page of its own, which works without a script and can be linked to. */
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
  /** What will be so afterwards, and that there is no way back. */
  readonly text: string | Html;
  /** Of the record that the question is about. */
  readonly form?: FormState | undefined;
  /** Further fields of the form. */
  readonly fields?: Html | undefined;
  /** What is posted to; what asks and what does may have the same path. */
  readonly action: string;
  readonly csrf: Html;
  /** What the button does, in its words: `Delete the endpoint`. */
  readonly submit: string;
  readonly cancel: string;
};

export function confirmPage({ title, crumbs, text, form, fields, action, csrf, submit, cancel }: Confirmation): View {
  const content = html`${pageHeader({ title, crumbs })}<div class="section confirm"><div class="section-body">${form === undefined ? null : overtakenNotice(form)}<div class="confirm-text">${text}</div><form method="post" action="${action}" class="form" data-once>${csrf}${form === undefined ? null : seenField(form)}${fields ?? null}<div class="buttons form-buttons">${submitButton({ label: submit, kind: 'danger' })}${linkButton({ href: cancel, label: 'Cancel' })}</div></form></div></div>`;
  return { title, content };
}
