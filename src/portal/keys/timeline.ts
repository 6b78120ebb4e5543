/** A chart of when keys and client certificates expire: a bar from today to the expiry of each, the soonest first. */

import { type Html, html } from '../../http/html.ts';
import { EXPIRY_WARNING_DAYS } from '../../kernel/limits/housekeeping.ts';
import type { Expiry } from '../../store/housekeeping.ts';
import { icon } from '../parts/icon.ts';
import { relativeTime } from '../parts/time.ts';

const DAY_MS = 86_400_000;
/** The length of the axis. A later expiry fills the whole bar. */
const SPAN_MS: number = 365 * DAY_MS;
const MARKS: readonly string[] = ['today', '3 months', '6 months', '9 months', 'a year'];
const WARNED_MS: number = Math.max(...EXPIRY_WARNING_DAYS) * DAY_MS;
const URGENT_MS: number = 7 * DAY_MS;

/** The tone by the time until expiry. */
export function expiryTone(expiresAt: number, now: number): 'negative' | 'caution' | 'positive' {
  const left = expiresAt - now;
  return left <= URGENT_MS ? 'negative' : left <= WARNED_MS ? 'caution' : 'positive';
}

/** Every bar has its text beside it. */
export function expiryTimeline(expiries: readonly Expiry[], now: number): Html {
  const rows = expiries.map((expiry) => {
    const { kind, id, name, expiresAt } = expiry;
    const href = kind === 'key' ? `/keys/${id}` : `/endpoints/${id}#credentials`;
    const what = kind === 'key' ? 'key' : 'client certificate of';
    return html`<li class="expiry expiry-${expiryTone(expiresAt, now)}"><span class="expiry-name"><span class="expiry-kind">${icon(kind === 'key' ? 'key' : 'endpoint')}<span class="visually-hidden">${what} </span></span><a href="${href}">${name}</a></span>${bar(expiresAt, now)}<span class="expiry-when">${expiresAt <= now ? 'expired ' : ''}${relativeTime(expiresAt, now)}</span></li>`;
  });
  const marks = MARKS.map((mark) => html`<span>${mark}</span>`);
  return html`<div class="expiries"><div class="expiry-marks" aria-hidden="true"><p class="expiry-scale">${marks}</p></div><ol>${rows}</ol></div>`;
}

const WIDTH = 400;
const HEIGHT = 10;

function bar(expiresAt: number, now: number): Html {
  const left = Math.min(Math.max(expiresAt - now, 0), SPAN_MS);
  const length = Math.max(Math.round((left / SPAN_MS) * WIDTH), left === 0 ? 0 : 3);
  const marks = [1, 2, 3].map((quarter) => {
    const x = (WIDTH / 4) * quarter;
    return html`<line class="expiry-mark" x1="${x}" y1="0" x2="${x}" y2="${HEIGHT}"/>`;
  });
  const warned = Math.round((WARNED_MS / SPAN_MS) * WIDTH);
  return html`<svg class="expiry-bar" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="expiry-track" width="${WIDTH}" height="${HEIGHT}"/><rect class="expiry-left" width="${length}" height="${HEIGHT}"/>${marks}<line class="expiry-warned" x1="${warned}" y1="0" x2="${warned}" y2="${HEIGHT}"/></svg>`;
}
