/** One attempt of a delivery: request, response, timings, and advice after a failure. */

import type { AttemptRecord } from '../../domain/batch.ts';
import { adviceForOwner, type ErrorClass, RESPONSE_KEPT_BYTES, type Timings } from '../../domain/outcome.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import type { NumberedAttempt } from '../../webhooks/sent-again.ts';
import { codeBlock, copyButton, type Moment } from '../parts/details.ts';
import { errorWords } from '../parts/error-words.ts';
import { badge } from '../parts/mark.ts';
import { countText, sentence, sizeText, spanText } from '../parts/text.ts';

type Telling = {
  /** The present URL of the endpoint; null without one. */
  readonly url: string | null;
  /** The customer who reads it; null: the operator. */
  readonly reader: string | null;
  /** The request as a command; null: it is not offered. */
  readonly curl: string | null;
  /** The headline or another attempt says the same of the failure. */
  readonly isSaid: boolean;
  /** The last attempt is expanded. */
  readonly isUnfolded: boolean;
};

/** An attempt in the timeline. */
export function attemptMoment(attempt: NumberedAttempt, { url, reader, curl, isSaid, isUnfolded }: Telling): Moment {
  const { startedAt, number, errorClass } = attempt;
  return {
    id: `attempt-${attempt.id}`,
    at: startedAt,
    tone: errorClass === null ? 'positive' : 'negative',
    title: html`Attempt ${number} ${outcomeBadge(attempt)}`,
    text: html`
      ${errorClass === null || isSaid ? null : failure(attempt, errorClass as ErrorClass, reader)}
      <details class="attempt"${isUnfolded ? html` open` : null}>
        <summary>${summaryOf(attempt)}</summary>
        ${attemptDetails(attempt, url)}
        ${curl === null ? null : html`<p class="attempt-curl">${copyButton(curl, 'Copy as curl', 'Copy as curl')}</p>`}
      </details>
    `,
  };
}

/** `200`, or the error in a few words. */
export function outcomeBadge({
  responseStatus,
  errorClass,
}: Pick<AttemptRecord, 'responseStatus' | 'errorClass'>): Html {
  if (errorClass === null) return badge('positive', String(responseStatus), 'check');
  const isStatus = errorClass === 'http_status' && responseStatus !== null;
  return badge('negative', isStatus ? String(responseStatus) : errorWords(errorClass));
}

function failure(
  { errorMessage, responseStatus, responseHeaders }: AttemptRecord,
  errorClass: ErrorClass,
  reader: string | null,
): Html {
  const isRedirect = responseStatus !== null && responseStatus >= 300 && responseStatus < 400;
  const location = isRedirect ? responseHeaders?.location : undefined;
  const target = location === undefined ? null : html` The redirect leads to <code>${location}</code>.`;
  return html`
    <p>
      <strong>${sentence(errorMessage ?? errorClass)}</strong>
      ${' '}
      ${adviceForOwner(reader, errorClass, responseStatus, errorMessage)}
      ${target}
    </p>
  `;
}

function summaryOf({ firstOffset, lastOffset, responseStatus, timings: { totalMs } }: AttemptRecord): Html {
  const records = firstOffset === null || lastOffset === null ? 0 : lastOffset - firstOffset + 1;
  const sent =
    records > 1 ? `${countText(records)} events (#${firstOffset}–#${lastOffset}) in one request` : 'One event';
  if (totalMs === null) return html`${sent}`;
  return html`${sent}, ${responseStatus === null ? 'failed after' : 'answered in'} ${tookText(totalMs)}`;
}

/** The request, the response and the timings. */
export function attemptDetails(attempt: AttemptRecord, url: string | null): Html {
  const { timings, errorClass, responseStatus, responseProblem } = attempt;
  const drawn = waterfall(timings, errorClass);
  const problem =
    responseProblem === null
      ? null
      : html`<p class="quiet">The status counts, but something is wrong with the response: ${responseProblem}.</p>`;
  return html`
    <div class="stack">
      ${drawn}
      ${problem}
      ${
        errorClass === null || responseStatus !== null
          ? null
          : html`<p class="quiet">To find others like it: <code>response:${errorClass}</code></p>`
      }
      ${responseBlock(attempt)}
      <details class="attempt-headers">
        <summary>Headers</summary>
        <div class="stack">
          ${codeBlock({ code: requestText(attempt, url), label: 'Request headers (secrets masked)' })}
          ${responseHeadersBlock(attempt)}
        </div>
      </details>
    </div>
  `;
}

function requestText({ requestHeaders }: AttemptRecord, url: string | null): string {
  const lines = headerLines(requestHeaders);
  if (url === null) return lines.join('\n');
  const { pathname, search, host } = new URL(url);
  return [`POST ${pathname}${search}`, `host: ${host}`, ...lines].join('\n');
}

function responseBlock({ responseStatus, responseHeaders, responseBody }: AttemptRecord): Html {
  if (responseStatus === null) return html`<p class="quiet">No response.</p>`;
  if (responseHeaders === null) {
    return html`<p class="quiet">Status ${responseStatus}. The response was erased together with the data.</p>`;
  }
  const body = responseBody === null ? '' : Buffer.from(responseBody).toString('utf8');
  const isCut = responseBody !== null && responseBody.byteLength >= RESPONSE_KEPT_BYTES;
  if (body === '') return html`<p class="quiet">The response ${responseStatus} had no body.</p>`;
  return codeBlock({
    code: body,
    label: isCut ? `Response body (first ${sizeText(RESPONSE_KEPT_BYTES)})` : 'Response body',
  });
}

function responseHeadersBlock({ responseStatus, responseHeaders }: AttemptRecord): Html | null {
  if (responseStatus === null || responseHeaders === null) return null;
  const code = [String(responseStatus), ...headerLines(responseHeaders)].join('\n');
  return codeBlock({ code, label: 'Response headers' });
}

function headerLines(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}

type Step = { readonly name: string; readonly kind: string; readonly ms: number };

const STEPS: readonly (readonly [key: Exclude<keyof Timings, 'totalMs'>, name: string, kind: string])[] = [
  ['dnsMs', 'DNS', 'dns'],
  ['connectMs', 'Connect', 'connect'],
  ['tlsMs', 'TLS', 'tls'],
  ['firstByteMs', 'First byte', 'wait'],
];

/** Null if no step was reached. Steps that a reused connection did not need are omitted. The TLS step is red if TLS failed. */
export function waterfall(timings: Timings, errorClass: string | null = null): Html | null {
  const { totalMs } = timings;
  const steps = stepsOf(timings, errorClass?.startsWith('tls') === true);
  if (totalMs === null && steps.length === 0) return null;
  const whole = totalMs ?? steps.reduce((sum, { ms }) => sum + ms, 0);
  const total = Math.max(whole, 1);
  let from = 0;
  const rows = steps.map((step) => {
    // Each step is rounded, so the sum may be a little longer than the whole.
    const ms = Math.min(step.ms, whole - from);
    const made = bar({ ...step, ms }, from, total);
    from += ms;
    return made;
  });
  // The rest: waiting for a free connection, and reading the body.
  const rest = whole - from;
  if (steps.length > 0 && rest > total / 50) rows.push(bar({ name: 'Other', kind: 'rest', ms: rest }, from, total));
  return html`
    <div class="waterfall">
      <ol>${rows}</ol>
      <p class="waterfall-total"><span>Whole request</span><span>${tookText(whole)}</span></p>
    </div>
  `;
}

/** A duration that was measured in whole milliseconds. */
export function tookText(ms: number): string {
  return ms < 1 ? 'less than 1 ms' : spanText(ms);
}

function stepsOf(timings: Timings, hasTlsFailed: boolean): Step[] {
  return STEPS.flatMap(([key, name, kind]) => {
    const ms = timings[key];
    return ms === null ? [] : [{ name, kind: kind === 'tls' && hasTlsFailed ? 'failed' : kind, ms }];
  });
}

/** In thousandths of the whole. The shortest step still shows as a line. */
function bar({ name, kind, ms }: Step, from: number, total: number): Html {
  const x = Math.round((from / total) * 1000);
  const width = Math.max(Math.round((ms / total) * 1000), 4);
  const rect = attributes({ x: Math.min(x, 996), y: 0, width, height: 10, class: `waterfall-${kind}` });
  return html`
    <li>
      <span>${name}</span>
      <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <rect class="waterfall-track" width="1000" height="10"/>
        <rect${rect}/>
      </svg>
      <span>${ms < 1 ? '< 1 ms' : spanText(ms)}</span>
    </li>
  `;
}
