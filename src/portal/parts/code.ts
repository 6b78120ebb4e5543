/** Text that programs read: identifiers, code and secrets, each with a button that copies it. */
import { attributes, type Html, html } from '../../http/html.ts';
import { icon } from './icon.ts';

/** An identifier in a line of text. `shown` is for long ones; what is copied is whole. */
export function copyable(text: string, what = 'identifier', shown: string = text): Html {
  return html`<span class="copyable"><code${attributes({ title: shown === text ? null : text })}>${shown}</code>${copyButton(text, `Copy the ${what}`)}</span>`;
}

/** Several lines, in a box that scrolls by itself. */
export function codeBlock({
  code,
  label,
  isWrapped = false,
}: {
  readonly code: string;
  /** What it is: the box's name. */
  readonly label: string;
  readonly isWrapped?: boolean | undefined;
}): Html {
  return html`<figure class="code"><figcaption>${label}${copyButton(code, `Copy: ${label}`)}</figcaption><pre class="${isWrapped ? 'wrapped' : ''}" tabindex="0" aria-label="${label}"><code>${code}</code></pre></figure>`;
}

/**
 * A secret that is shown this once, in the answer to the form that made it. `note` says what to do with it. Whoever leaves the
 * page without it has to make another.
 */
export function secretBox({
  label,
  value,
  note,
}: {
  readonly label: string;
  readonly value: string;
  readonly note: string | Html;
}): Html {
  return html`<div class="secret" role="group" aria-label="${label}"><p class="secret-label">${icon('key')}${label}<span class="secret-once">shown this once</span></p><div class="secret-line"><code class="secret-value" data-select-all>${value}</code>${copyButton(value, `Copy the ${label.toLowerCase()}`, 'Copy')}</div><p class="hint">${note}</p></div>`;
}

/** The same example for several readers; with the script one at a time, without it one below the other. */
export function codePanels(label: string, panels: readonly { readonly label: string; readonly code: string }[]): Html {
  const made = panels.map(
    (panel) =>
      html`<div class="panel" data-panel="${panel.label}"><p class="panel-label">${panel.label}</p>${codeBlock({ code: panel.code, label: `${label}: ${panel.label}` })}</div>`,
  );
  return html`<div class="panels" data-panels="${label}">${made}</div>`;
}

/** The script shows it: without, there is nothing that it could do. */
function copyButton(text: string, longLabel: string, label?: string): Html {
  return html`<button type="button" class="copy" data-copy="${text}" aria-label="${longLabel}" hidden>${icon('copy')}${label === undefined ? null : html`<span>${label}</span>`}</button>`;
}
