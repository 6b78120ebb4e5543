/** How deliveries went in the last 24 hours: the share that succeeded, and a drawing of the hours. */
import { attributes, type Html, html } from '../../http/html.ts';
import { type Attempts, type Day, successRate } from '../../observe/figures.ts';
import { errorWords } from './error-words.ts';
import type { Tone } from './mark.ts';
import { countOf, relativeTime, shareText, shortTime } from './text.ts';

/** Below the first share a webhook has a problem, below the second it hardly delivers. */
const CAUTION_BELOW = 0.99;
const NEGATIVE_BELOW = 0.5;

function rateTone(rate: number | null): Tone {
  if (rate === null) return 'neutral';
  return rate < NEGATIVE_BELOW ? 'negative' : rate < CAUTION_BELOW ? 'caution' : 'positive';
}

/** For the tile of a page: a share without a problem has no colour. */
export function figureTone(rate: number | null): Tone {
  const tone = rateTone(rate);
  return tone === 'positive' ? 'neutral' : tone;
}

/**
 * `81.2 %` with its number of attempts and the hours, for a cell of a list. `isTroubled`: something beside the cell makes no attempts, so
 * even a full share is no good sign.
 */
export function healthCell(day: Day | undefined, isTroubled = false): Html {
  const rate = day === undefined ? null : successRate(day);
  if (day === undefined || rate === null) return html`<span class="quiet">no attempts in 24 h</span>`;
  const tone = isTroubled ? figureTone(rate) : rateTone(rate);
  return html`
    <span class="health" title="${highestText(day)}">
      <span class="health-rate tone-${tone}">${shareText(rate)}</span>
      ${sparkline(day)}
    </span>
    <span class="cell-hint">${attemptsText(day)}</span>
  `;
}

/** The text that the drawing has no room for. */
function highestText({ hours }: Day): string {
  const most = Math.max(...hours.map(({ attempts }) => attempts));
  return `Attempts by the hour. The highest bar: ${countOf(most, 'attempt')}.`;
}

/** `1,204 attempts, 3 failed` */
export function attemptsText({ attempts, failedAttempts }: Attempts): string {
  return `${countOf(attempts, 'attempt')}${failedAttempts === 0 ? '' : `, ${failedAttempts} failed`}`;
}

/** Each is null if it is not known. */
type Outage = {
  readonly since: number | null;
  readonly succeededAt: number | null;
  /** The class and the message of the newest error, with which the outage did not have to begin. */
  readonly error: readonly [errorClass: string, message: string | null] | null;
  /** The causes of the deliveries that wait, if the newest error is not that of all (`failingCauses`). */
  readonly causes?: Html | null | undefined;
};

/** Since when deliveries fail, when the last one succeeded, and the latest error: the same on every page. */
export function failingFacts({ since, succeededAt, error, causes = null }: Outage, now: number): Html {
  const began = since === null ? 'Deliveries fail.' : html`Deliveries have failed since ${shortTime(since)}.`;
  const last =
    succeededAt === null
      ? null
      : html` The last success was ${relativeTime(succeededAt, now)} (${shortTime(succeededAt)}).`;
  const why = causes ?? (error === null ? null : html`${latestError(...error)}`);
  return html`${began}${last}${why === null ? null : html` ${why}`}`;
}

/** `Latest error: the receiver answered 503.` */
export function latestError(errorClass: string, message: string | null): string {
  const text = message ?? errorWords(errorClass);
  return `Latest error: ${text}${/[.!?]$/.test(text) ? '' : '.'}`;
}

const BAR_WIDTH = 4;
const GAP = 1;
const HEIGHT = 24;

/**
 * One bar for each hour: its height grows with the square root of the attempts, so that one busy hour does not flatten the others; its
 * upper part are the failed ones. The text beside it has the numbers.
 */
function sparkline({ hours }: Day): Html {
  const most = Math.max(1, ...hours.map(({ attempts }) => attempts));
  const bars = hours.map(({ attempts, failedAttempts }, at) => {
    const height = attempts === 0 ? 1 : Math.max(2, Math.round(Math.sqrt(attempts / most) * HEIGHT));
    const failed = failedAttempts === 0 ? 0 : Math.max(2, Math.round((failedAttempts / attempts) * height));
    const bar = (kind: string, y: number, length: number): Html =>
      html`
        <rect${attributes({ class: `spark-${kind}`, x: at * (BAR_WIDTH + GAP), y, width: BAR_WIDTH, height: length })}/>
      `;
    const top = HEIGHT - height;
    return html`
      ${bar(attempts === 0 ? 'none' : 'delivered', top, height)}
      ${failed === 0 ? null : bar('failed', top, Math.min(failed, height))}
    `;
  });
  return html`
    <svg
      class="spark"
      viewBox="0 0 ${hours.length * (BAR_WIDTH + GAP)} ${HEIGHT}"
      aria-hidden="true"
      focusable="false"
    >
      ${bars}
    </svg>
  `;
}
