/** Buttons: links to pages, and forms with one button. */
import { attributes, type Html, html } from '../../http/html.ts';
import { type IconName, icon } from './icon.ts';

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
  return html`<a class="${classOf(look)}" href="${href}"${attributes({ 'aria-label': look.longLabel })}>${inside(look)}</a>`;
}

/** Submits its form. `name` and `value` tell which of several buttons was pressed. */
export function submitButton(
  look: Look & { readonly name?: string | undefined; readonly value?: string | undefined },
): Html {
  const { name, value, longLabel } = look;
  return html`<button class="${classOf({ kind: 'primary', ...look })}"${attributes({ name, value, 'aria-label': longLabel })}>${inside(look)}</button>`;
}

/**
 * A form that posts to `action` at once. For actions that cannot be undone, link to a page that asks first (`confirmPage`).
 */
export function actionButton({
  action,
  csrf,
  fields = {},
  ...look
}: Look & {
  readonly action: string;
  readonly csrf: Html;
  readonly fields?: Readonly<Record<string, string>>;
}): Html {
  const hidden = Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return html`<form method="post" action="${action}" class="inline-form">${csrf}${hidden}${submitButton({ kind: 'plain', ...look })}</form>`;
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
