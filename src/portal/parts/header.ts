/** The head of a page: where it is, what it shows, and what can be done with it. */
import { type Html, html } from '../../http/html.ts';
import { buttonRow } from './button.ts';

export type PageHeader = {
  readonly title: string;
  /** One or two sentences: what this is for. */
  readonly lead?: string | Html | undefined;
  /** The lists above it, from the outside in. */
  readonly crumbs?: readonly { readonly href: string; readonly label: string }[] | undefined;
  /** Beside the title: its state. */
  readonly badges?: readonly Html[] | undefined;
  /** The primary one last. Leave out what the user may not do. */
  readonly actions?: readonly (Html | null)[] | undefined;
};

export function pageHeader({ title, lead, crumbs = [], badges = [], actions = [] }: PageHeader): Html {
  const links = crumbs.map(({ href, label }) => html`<li><a href="${href}">${label}</a></li>`);
  const buttons = actions.filter((action) => action !== null);
  return html`<header class="page-header">
${links.length === 0 ? null : html`<nav aria-label="Breadcrumb" class="crumbs"><ol>${links}</ol></nav>`}
<div class="page-header-row"><div class="page-title"><h1>${title}</h1>${badges}</div>${buttons.length === 0 ? null : buttonRow(buttons)}</div>
${lead === undefined ? null : html`<div class="lead">${lead}</div>`}
</header>`;
}

export type Section = {
  readonly title: string;
  readonly lead?: string | Html | undefined;
  readonly actions?: readonly (Html | null)[] | undefined;
  readonly content: Html;
  /** Something to link to, and for the script to put new content into. */
  readonly id?: string | undefined;
  /** Without a frame: for a table, which has one of its own. */
  readonly isPlain?: boolean | undefined;
};

/** A part of a page under a heading of its own. */
export function section({ title, lead, actions = [], content, id, isPlain = false }: Section): Html {
  const buttons = actions.filter((action) => action !== null);
  const head = html`<div class="section-head"><div><h2>${title}</h2>${lead === undefined ? null : html`<div class="lead">${lead}</div>`}</div>${buttons.length === 0 ? null : buttonRow(buttons)}</div>`;
  const marked = id === undefined ? null : html` id="${id}"`;
  return html`<section class="${isPlain ? 'section section-plain' : 'section'}"${marked}>${head}<div class="section-body">${content}</div></section>`;
}

/** Links between the pages of one thing, the current one marked. */
export function tabs(
  label: string,
  items: readonly { readonly href: string; readonly label: string; readonly isCurrent: boolean }[],
): Html {
  const links = items.map(
    (item) =>
      html`<li><a href="${item.href}"${item.isCurrent ? html` aria-current="page"` : null}>${item.label}</a></li>`,
  );
  return html`<nav class="tabs" aria-label="${label}"><ul>${links}</ul></nav>`;
}
