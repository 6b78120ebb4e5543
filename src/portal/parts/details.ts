/** The details of a record: definitions, a timeline and figures. */
import { type Html, type HtmlValue, html } from '../../http/html.ts';
import { icon } from './icon.ts';
import { TONE_ICONS, type Tone } from './notice.ts';
import { time } from './time.ts';

/** A null value shows as a dash. */
export function definitionList(
  entries: readonly (readonly [name: string, value: HtmlValue, hint?: string | undefined])[],
): Html {
  const rows = entries.map(
    ([name, value, hint]) =>
      html`<div><dt>${name}</dt><dd>${value ?? html`<span class="quiet">–</span>`}${hint === undefined ? null : html`<p class="hint">${hint}</p>`}</dd></div>`,
  );
  return html`<dl class="definitions">${rows}</dl>`;
}

export type Moment = {
  readonly at: number | null;
  readonly title: string | Html;
  readonly tone?: Tone | undefined;
  readonly text?: string | Html | null | undefined;
};

/** Events in the given order. */
export function timeline(moments: readonly Moment[]): Html {
  const items = moments.map(
    ({ at, title, tone = 'neutral', text }) =>
      html`<li class="moment moment-${tone}"><span class="moment-mark">${icon(TONE_ICONS[tone])}</span><div><p class="moment-title">${title}${at === null ? null : html` ${time(at)}`}</p>${text === null || text === undefined ? null : html`<div class="moment-text">${text}</div>`}</div></li>`,
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
    return html`<div class="figure figure-${tone}"><dt>${name}</dt><dd><span class="figure-value">${value}</span>${hint === undefined ? null : html`<span class="figure-hint">${hint}</span>`}</dd></div>`;
  });
  return html`<dl class="figures">${made}</dl>`;
}
