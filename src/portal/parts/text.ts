/**
 * Words for numbers, instants, durations and reasons. Without the script instants are in UTC; with it in the user's time zone, and UTC on
 * hover.
 */
import { type Html, html } from '../../http/html.ts';
import { type Refusal, saidAt } from '../../kernel/refusal.ts';

/** `2026-11-21 05:00:00 UTC`; null: an em dash. */
export function time(at: number | null): Html {
  if (at === null) return html`<span class="quiet">–</span>`;
  const iso = new Date(at).toISOString();
  const utc = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
  return html`<time datetime="${iso}" title="${utc}" data-local="instant">${utc}</time>`;
}

/**
 * An instant of the last weeks in a narrow column: `26 Nov 05:00:00 UTC`. The script shows it in the time zone of the browser. `short` and
 * `exact` leave the day out if it is today. `minute` always has the day, and no seconds.
 */
export function shortTime(at: number, local: 'short' | 'minute' | 'exact' = 'short'): Html {
  const iso = new Date(at).toISOString();
  const [clock, utc] = [iso.slice(11, 19), `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`];
  const day = `${Number(iso.slice(8, 10))} ${MONTHS[Number(iso.slice(5, 7)) - 1]}`;
  return html`<time datetime="${iso}" title="${utc}" data-local="${local}">${day} ${clock} UTC</time>`;
}

/** The same for instants of any age, with the seconds in the user's time zone too: those of another year have it. */
export function exactTime(at: number, now: number): Html {
  const isOfYear = new Date(at).getUTCFullYear() === new Date(now).getUTCFullYear();
  return isOfYear ? shortTime(at, 'exact') : time(at);
}

/** A day, which begins and ends in UTC: `26 Nov 2026`. The script writes it as the user does. */
export function dayText(day: string): Html {
  const [year = '', month = '', date = ''] = day.split('-');
  return html`<time datetime="${day}" data-local="day">${Number(date)} ${MONTHS[Number(month) - 1] ?? null} ${year}</time>`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * A relative time: `3 minutes ago`, `in 2 days`. The script keeps it up to date. What has happened is never to come, even if the clock of
 * the browser is behind.
 */
export function relativeTime(at: number | null, now: number): Html {
  if (at === null) return html`<span class="quiet">never</span>`;
  const { iso, utc } = isoAndUtc(at);
  const text = relativeText(at - now);
  const local = text.startsWith('in ') ? 'ahead' : 'relative';
  return html`<time datetime="${iso}" title="${utc}" data-local="${local}">${text}</time>`;
}

/** How long something lasts since an instant: `9 hours`. The script keeps it up to date, and has the same rule. */
export function lengthTime(since: number, now: number): Html {
  const { iso, utc } = isoAndUtc(since);
  const text = lengthText(Math.max(now - since, 1000));
  return html`<time datetime="${iso}" title="Since ${utc}" data-local="length">${text}</time>`;
}

function isoAndUtc(at: number): { readonly iso: string; readonly utc: string } {
  const iso = new Date(at).toISOString();
  return { iso, utc: `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC` };
}

/** A difference as text; negative is in the past. The script has the same rule (`assets/behaviour.js`). */
export function relativeText(ms: number): string {
  if (Math.abs(ms) < 5000) return 'now';
  return ms < 0 ? `${lengthText(-ms)} ago` : `in ${lengthText(ms)}`;
}

/** A time to come in few letters, for a cell of a list: `in 30 s`. The script keeps it up to date, and has the same rule. */
export function briefTime(at: number, now: number): Html {
  const { iso, utc } = isoAndUtc(at);
  const text = at - now < 1000 ? 'due now' : `in ${lengthText(at - now)}`.replace(LONG_UNIT, ' $1$2$3$4');
  return html`<time datetime="${iso}" title="${utc}" data-local="brief">${text}</time>`;
}

const LONG_UNIT = / (?:(s)econd|(min)ute|(h)our|(d)ay)s?$/;

/** A length of time in its largest unit, rounded to the nearest: `3 days` for 2 days and 23 hours. */
export function lengthText(ms: number): string {
  const at = UNITS.findIndex(([, length], index) => ms >= length - (UNITS[index + 1]?.[1] ?? 0) / 2);
  const [unit, length] = UNITS[at] ?? (['second', 1000] as const);
  const count = Math.round(ms / length);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

const UNITS = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/** A duration: `less than 1 ms`, `850 ms`, `1.2 s`, `5 min`, `2 h 30 min`, `3 d`. */
export function spanText(ms: number): string {
  if (ms < 1000) return Math.round(ms) === 0 ? 'less than 1 ms' : `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const [days, hours, rest] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60), minutes % 60];
  const parts = [
    days > 0 ? `${days} d` : '',
    hours > 0 ? `${hours} h` : '',
    rest > 0 && days === 0 ? `${rest} min` : '',
  ];
  return parts.filter((part) => part !== '').join(' ');
}

/** `12,345`, for integers. `toLocaleString` would cost 20 ms at the start of the program. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `12,345 records`, `1 record`; `none` for 0 if given. */
export function countOf(count: number, noun: string, none?: string, plural = `${noun}s`): string {
  if (count === 0 && none !== undefined) return none;
  return `${countText(count)} ${count === 1 ? noun : plural}`;
}

/** `orders, stock and people`; `last` is the word before the last one. */
export function listText(parts: readonly string[], last: 'and' | 'or' = 'and'): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} ${last} ${parts.at(-1)}`;
}

/** A share from 0 to 1: `99.9 %`. Never rounded up to 100 %. */
export function shareText(share: number): string {
  if (share === 0) return '0 %';
  return share === 1 ? '100 %' : `${(Math.min(Math.round(share * 1000), 999) / 10).toFixed(1)} %`;
}

/** `median 12 ms, 95 % within 80 ms`. */
export function percentilesText(p50Ms: number, p95Ms: number): string {
  const unbroken = (ms: number): string => spanText(ms).replaceAll(' ', '\u00a0');
  return `median\u00a0${unbroken(p50Ms)}, 95\u00a0% within\u00a0${unbroken(p95Ms)}`;
}

/** The text with the words in it marked, in capital letters or not. Words of one or two letters are marked only whole. */
export function marked(text: string, words: readonly string[]): Html {
  const sought = words
    .filter((word) => word !== '')
    .map((word) => {
      const pattern = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      return /^\w{1,2}$/.test(word) ? `\\b${pattern}\\b` : pattern;
    });
  if (sought.length === 0) return html`${text}`;
  const parts = text.split(new RegExp(`(${sought.join('|')})`, 'i'));
  return html`${parts.map((part, at) => (at % 2 === 1 ? html`<mark>${part}</mark>` : part))}`;
}

/** The text with a capital letter at its beginning. */
export function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** Why something was refused, in the words of the portal. */
export function reasonOf(refusal: Refusal): string {
  return saidAt('portal', refusal).message;
}

/**
 * Makes a sentence of the reason of a refusal or an outcome: it begins with a capital letter and ends with a full stop. A header name at
 * the beginning stays as it is.
 */
export function sentence(text: string): string {
  const first = /^x-/.test(text) ? 'x' : text.slice(0, 1).toUpperCase();
  return `${first}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** A path or an address: a narrow column breaks it between its segments. */
export function breakable(path: string): Html {
  return html`${path.split('/').map((segment, at) => (at === 0 ? segment : html`/<wbr>${segment}`))}`;
}

/** `512 B`, `1 KiB`, `1.5 MiB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes}\u00a0B`;
  const power = Math.min(3, Math.floor(Math.log2(bytes) / 10));
  return `${Number((bytes / 1024 ** power).toFixed(1))}\u00a0${['B', 'KiB', 'MiB', 'GiB'][power]}`;
}

/** `http_status: the receiver answered 503` as a sentence without the code. */
export function reasonSentence(reason: string | null): string {
  if (reason === null) return 'The last attempt failed.';
  const at = reason.indexOf(': ');
  return at === -1 ? `The last attempt failed (${reason}).` : sentence(reason.slice(at + 2));
}

/** Whether a text has every word of `asked`, in upper or lower case. */
export function hasWords(text: string, asked: string): boolean {
  const lower = text.toLowerCase();
  return asked
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
