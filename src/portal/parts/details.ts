/** The details of a record: definitions, a timeline and figures; identifiers, code and secrets with a copy button. */
import { attributes, type Html, type HtmlValue, html } from '../../http/html.ts';
import { type IconName, icon, notice, TONE_ICONS, type Tone } from './mark.ts';
import { exactTime } from './text.ts';

/** A null value shows as a dash. */
export type Definition = readonly [name: string, value: HtmlValue, hint?: string | undefined];

export function definitionList(entries: readonly Definition[]): Html {
  const rows = entries.map(
    ([name, value, hint]) =>
      html`
        <div>
          <dt>${name}</dt>
          <dd>
            ${value ?? html`<span class="quiet">–</span>`}
            ${hint === undefined ? null : html`<p class="hint">${hint}</p>`}
          </dd>
        </div>
      `,
  );
  return html`<dl class="definitions">${rows}</dl>`;
}

export type Moment = {
  /** The id of its element, by which a live page finds it again. */
  readonly id?: string | undefined;
  readonly at: number | null;
  readonly title: string | Html;
  readonly tone?: Tone | undefined;
  /** Default: that of the tone. */
  readonly icon?: IconName | undefined;
  readonly text?: string | Html | null | undefined;
};

/** Events in the given order. */
export function timeline(moments: readonly Moment[], now: number): Html {
  const items = moments.map(
    ({ id, at, title, tone = 'neutral', icon: shape = TONE_ICONS[tone], text }) =>
      html`
        <li class="moment moment-${tone}"${attributes({ id })}>
          <span class="moment-mark">${icon(shape)}</span>
          <div>
            <p class="moment-title">${title}${at === null ? null : html` ${exactTime(at, now)}`}</p>
            ${text === null || text === undefined ? null : html`<div class="moment-text">${text}</div>`}
          </div>
        </li>
      `,
  );
  return html`<ol class="timeline">${items}</ol>`;
}

/** A few key figures. */
export function figures(
  items: readonly {
    readonly label: string;
    readonly value: HtmlValue;
    readonly hint?: string | Html | undefined;
    readonly href?: string | undefined;
    readonly tone?: Tone | undefined;
  }[],
): Html {
  const made = items.map(({ label, value, hint, href, tone = 'neutral' }) => {
    const name = href === undefined ? label : html`<a href="${href}">${label}</a>`;
    return html`
      <div class="figure figure-${tone}">
        <dt>${name}</dt>
        <dd>
          <span class="figure-value">${value}</span>
          ${hint === undefined ? null : html`<span class="figure-hint">${hint}</span>`}
        </dd>
      </div>
    `;
  });
  return html`<dl class="figures">${made}</dl>`;
}

/** An inline identifier. `shown` shortens a long one; the button copies all of it. */
export function copyable(text: string, what = 'identifier', shown: string = text): Html {
  return html`
    <span class="copyable">
      <code${attributes({ title: shown === text ? null : text })}>${shown}</code>
      ${copyButton(text, `Copy the ${what}`)}
    </span>
  `;
}

/** A secret that its readers may see: behind “Show”, so that it is on no screen by accident. */
export function maskedValue(text: string, what: string): Html {
  return html`
    <details class="masked-value">
      <summary>
        <span aria-hidden="true">••••••••</span>
        <span class="masked-show">Show<span class="visually-hidden"> the ${what}</span></span>
      </summary>
      ${copyable(text, what)}
    </details>
  `;
}

/** Several lines in a box, which breaks long ones and scrolls if they are many. */
export function codeBlock({
  code,
  label,
  caption = label,
}: {
  readonly code: string;
  /** The accessible name. */
  readonly label: string;
  /** Above the code, or none. Default: the label. */
  readonly caption?: string | null | undefined;
}): Html {
  return html`
    <figure class="${caption === null ? 'code code-bare' : 'code'}">
      <figcaption>${caption}${copyButton(code, `Copy: ${label}`)}</figcaption>
      <pre tabindex="0" role="group" aria-label="${label}">
        <code>${code}</code>
      </pre>
    </figure>
  `;
}

/** The first visit of a page that shows a secret once, or a later one. */
export type Showing = 'first' | 'later';

/** A secret that is shown once. `note` says what to do with it. Afterwards the box says that it was shown, and leads to a new one. */
export function secretBox(
  {
    label,
    value,
    note,
    renewal,
  }: {
    readonly label: string;
    readonly value: string;
    readonly note: string | Html;
    readonly renewal: { readonly href: string; readonly label: string };
  },
  showing: Showing,
): Html {
  if (showing === 'later') {
    return notice({
      tone: 'info',
      title: `The ${label.toLowerCase()} was shown once, and is not shown again.`,
      text: html`If nobody copied it, <a href="${renewal.href}">${renewal.label}</a>.`,
    });
  }
  return html`
    <div class="secret" role="group" aria-label="${label}">
      <p class="secret-label">${icon('key')}${label}<span class="secret-once">shown only once</span></p>
      <div class="secret-line">
        <code class="secret-value" data-select-all>${value}</code>
        ${copyButton(value, `Copy the ${label.toLowerCase()}`, 'Copy')}
      </div>
      <p class="hint">${note}</p>
    </div>
  `;
}

/** One example in several languages. The script shows one at a time; without it all but the first are folded. */
export function codePanels(label: string, panels: readonly { readonly label: string; readonly code: string }[]): Html {
  const made = panels.map(
    (panel, at) =>
      html`
        <div data-panel="${panel.label}">
          <details${attributes({ open: at === 0 })}>
            <summary class="panel-label">${panel.label}</summary>
            ${codeBlock({ code: panel.code, label: `${label}: ${panel.label}`, caption: null })}
          </details>
        </div>
      `,
  );
  return html`<div class="panels" data-panels="${label}">${made}</div>`;
}

/** A program in several languages. Its lines are not broken. */
export function programPanels(...shown: Parameters<typeof codePanels>): Html {
  return html`<div class="program">${codePanels(...shown)}</div>`;
}

/** Hidden without the script, which does the copying. With an empty text it copies the code beside it. */
export function copyButton(text: string, longLabel: string, label?: string): Html {
  return html`
    <button type="button" class="copy" data-copy="${text}" aria-label="${longLabel}" hidden>
      ${icon('copy')}
      ${label === undefined ? null : html`<span>${label}</span>`}
    </button>
  `;
}
