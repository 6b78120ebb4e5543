/** A notice: success, error, warning or information. */
import { attributes, type Html, html } from '../../http/html.ts';
import { type IconName, icon } from './icon.ts';

export type Tone = 'positive' | 'caution' | 'negative' | 'info' | 'neutral';

export type Notice = {
  readonly tone: Tone;
  readonly title?: string | undefined;
  readonly text: string | Html;
  /** Set for a message after a redirect, which screen readers announce. */
  readonly isFlash?: boolean | undefined;
};

export const TONE_ICONS: Readonly<Record<Tone, IconName>> = {
  positive: 'check',
  caution: 'warning',
  negative: 'cross',
  info: 'info',
  neutral: 'info',
};

export function notice({ tone, title, text, isFlash }: Notice): Html {
  const role = isFlash === true ? (tone === 'negative' ? 'alert' : 'status') : null;
  return html`<div class="notice notice-${tone}"${attributes({ role })}>${icon(TONE_ICONS[tone])}<div>${title === undefined ? null : html`<p class="notice-title">${title}</p>`}<div class="notice-text">${text}</div></div></div>`;
}
