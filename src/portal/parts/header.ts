/** The header of a page, its sections, and buttons: links to pages, and forms with one button. */
import { attributes, type Html, html } from '../../http/html.ts';
import { type IconName, icon } from './mark.ts';

export type PageHeader = {
  readonly title: string;
  /** One or two sentences about the purpose. */
  readonly lead?: string | Html | undefined;
  /** The breadcrumbs, outermost first. */
  readonly crumbs?: readonly { readonly href: string; readonly label: string }[] | undefined;
  /** Below the title: whose the record is, and what it belongs to (`recordFacts`). */
  readonly facts?: Html | null | undefined;
  /** State badges beside the title. */
  readonly badges?: readonly Html[] | undefined;
  /**
   * On the page of a record in this order: *Change*; what ends its work (*Stop*, *Disable*, *Suspend*, *Deactivate*); the others; the
   * primary action last, which is also where *Start* and *Enable* are. Omit actions that the user may not do.
   */
  readonly actions?: readonly (Html | null)[] | undefined;
};

export function pageHeader({ title, lead, facts = null, crumbs = [], badges = [], actions = [] }: PageHeader): Html {
  const links = crumbs.map(({ href, label }) => html`<li><a href="${href}">${label}</a></li>`);
  const buttons = actions.filter((action) => action !== null);
  return html`
    <header class="page-header">
      ${links.length === 0 ? null : html`<nav aria-label="Breadcrumb" class="crumbs"><ol>${links}</ol></nav>`}
      <div class="page-header-row">
        <div class="page-title"><h1>${title}</h1>${badges}</div>
        ${buttons.length === 0 ? null : buttonRow(buttons)}
      </div>
      ${facts}
      ${lead === undefined ? null : html`<div class="lead">${lead}</div>`}
    </header>
  `;
}

type Section = {
  readonly title: string;
  readonly lead?: string | Html | undefined;
  readonly actions?: readonly (Html | null)[] | undefined;
  readonly content: Html;
  /** The anchor, and the target for the script's updates. */
  readonly id?: string | undefined;
  /** Without a frame, for a table that has its own. */
  readonly isPlain?: boolean | undefined;
};

/** A section of a page. */
export function section({ title, lead, actions = [], content, id, isPlain = false }: Section): Html {
  const buttons = actions.filter((action) => action !== null);
  const head = html`
    <div class="section-head">
      <div><h2>${title}</h2>${lead === undefined ? null : html`<div class="lead">${lead}</div>`}</div>
      ${buttons.length === 0 ? null : buttonRow(buttons)}
    </div>
  `;
  const marked = id === undefined ? null : html` id="${id}"`;
  return html`
    <section class="${isPlain ? 'section section-plain' : 'section'}"${marked}>
      ${head}
      <div class="section-body">${content}</div>
    </section>
  `;
}

type Tab = {
  readonly href: string;
  readonly label: string;
  readonly isCurrent: boolean;
  /** Ids of what only this page has. A link to one of them from elsewhere arrives at the tab; the script goes on to its page. */
  readonly anchors?: readonly string[] | undefined;
};

/** Links between related pages, the current one marked. */
export function tabs(label: string, items: readonly Tab[]): Html {
  const links = items.map(({ href, label: name, isCurrent, anchors = [] }) => {
    const ids = isCurrent ? [] : anchors.map((id) => html`<span id="${id}"></span>`);
    return html`<li><a href="${href}"${isCurrent ? html` aria-current="page"` : null}>${ids}${name}</a></li>`;
  });
  return html`<nav class="tabs" aria-label="${label}"><ul>${links}</ul></nav>`;
}

/** One primary action a page; `danger` deletes or revokes something. */
export type ButtonKind = 'primary' | 'plain' | 'danger' | 'quiet';

type Look = {
  readonly label: string;
  readonly kind?: ButtonKind | undefined;
  readonly icon?: IconName | undefined;
  /** The accessible name, if the label depends on its surroundings: `Stop the webhook orders`. */
  readonly longLabel?: string | undefined;
};

export function linkButton({ href, ...look }: Look & { readonly href: string }): Html {
  return html`
    <a class="${classOf(look)}" href="${href}"${attributes({ 'aria-label': look.longLabel })}>${inside(look)}</a>
  `;
}

/** Submits its form. `name` and `value` tell which of several buttons was pressed. A link to `id` moves the focus to it. */
export function submitButton(
  look: Look & {
    readonly id?: string | undefined;
    readonly name?: string | undefined;
    readonly value?: string | undefined;
    /** Sends the form to this path instead of its own. */
    readonly formAction?: string | undefined;
    /** The id of its form, if the button is outside it. */
    readonly form?: string | undefined;
  },
): Html {
  const { id, name, value, longLabel, formAction: formaction, form } = look;
  return html`
    <button class="${classOf({ kind: 'primary', ...look })}"${attributes({ id, name, value, formaction, form, 'aria-label': longLabel })}>
      ${inside(look)}
    </button>
  `;
}

/**
 * A form that posts to `action` immediately. For actions that cannot be undone, link to a page that asks first (`confirmPage`).
 */
export function actionButton({
  action,
  csrf,
  fields = {},
  ...look
}: Look & {
  readonly action: string;
  readonly csrf: Html;
  readonly id?: string | undefined;
  readonly fields?: Readonly<Record<string, string>>;
}): Html {
  const hidden = Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return html`
    <form method="post" action="${action}" class="inline-form">
      ${csrf}
      ${hidden}
      ${submitButton({ kind: 'plain', ...look })}
    </form>
  `;
}

/** A row of buttons. */
export function buttonRow(buttons: readonly (Html | null)[]): Html {
  return html`<div class="buttons">${buttons}</div>`;
}

function classOf({ kind = 'plain' }: Pick<Look, 'kind'>): string {
  return `button button-${kind}`;
}

function inside({ label, icon: name }: Look): Html {
  return html`${name === undefined ? null : icon(name)}<span>${label}</span>`;
}
