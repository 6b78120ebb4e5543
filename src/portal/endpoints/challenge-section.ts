/** The last challenge of an endpoint: the token, the expected and the received response, and advice. */

import { type Endpoint, mustBeVerified, type Verification } from '../../domain/endpoint.ts';
import { adviceFor, adviceForOwner, type ErrorClass, statusInMessage } from '../../domain/outcome.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { CHALLENGE_TIMEOUT_MS } from '../../webhooks/verification.ts';
import { challengeBody } from '../../wire/challenge.ts';
import { challengeHeader } from '../../wire/challenge-answer.ts';
import { ALLOWED_ORIGIN, ALLOWED_RATE, REQUEST_ORIGIN } from '../../wire/handshake.ts';
import { pathAndQuery } from '../../wire/signature.ts';
import type { PageCall } from '../frame/call.ts';
import { actionButton, type ButtonKind, section } from '../parts/header.ts';
import { badge, notice } from '../parts/mark.ts';
import { sentence, time } from '../parts/text.ts';
import { GUIDE_PATH } from './guide-text.ts';

/** `button`: null if the header of the page has it. */
export function challengeSection(endpoint: Endpoint, button: Html | null): Html {
  const { lastVerification } = endpoint;
  return section({
    id: 'challenge',
    title: 'Ownership',
    lead:
      endpoint.verification === 'cloudevents'
        ? HANDSHAKE_LEAD
        : 'Verification sends a challenge. The receiver signs it with the secret. That proves that the owner of ' +
          'the secret controls this address.',
    actions: [button],
    content:
      lastVerification === null
        ? html`
          <p class="quiet">
            ${
              mustBeVerified(endpoint)
                ? 'No challenge has been sent yet.'
                : 'Verification is optional for this endpoint. No challenge has been sent yet.'
            }
          </p>
        `
        : isUnprepared(endpoint)
          ? html`
            <div class="stack">
              <p>Not verified yet. ${firstAdvice(lastVerification)} Then press “Verify now”.</p>
              <details${attributes({ open: lastVerification.responseStatus !== null })}>
                <summary>The first challenge, sent when the endpoint was created</summary>
                ${verificationView(endpoint, lastVerification)}
              </details>
            </div>
          `
          : verificationView(endpoint, lastVerification),
  });
}

/** Until then, a challenge can be the one of the creation. It is sent within milliseconds. */
const CREATION_MS = 1000;

/**
 * Whether the last challenge failed before anyone could tell the receiver the secret. A handshake needs none. “Verify now” changes the
 * endpoint before it sends its challenge; any other change comes after the challenge of the creation.
 */
export function isUnprepared({
  createdAt,
  updatedAt,
  lastVerification,
  verification,
}: Pick<Endpoint, 'createdAt' | 'updatedAt' | 'lastVerification' | 'verification'>): boolean {
  if (lastVerification === null || lastVerification.verified || verification !== null) return false;
  const { at } = lastVerification;
  return at - createdAt < CREATION_MS && (updatedAt === createdAt || at < updatedAt);
}

/** Above the first challenge. A receiver without the secret refuses it or signs wrong; another status has another cause. */
function firstAdvice({ error, responseStatus }: Verification): string {
  const status = error === null ? null : statusInMessage(error);
  if (error === null || status === null || status === 401 || status === 403 || responseStatus === null)
    return 'Put the secret into the receiver.';
  return `${sentence(withoutCode(error))} Correct that, and put the secret into the receiver.`;
}

export function verifyButton(
  { csrf }: Pick<PageCall, 'csrf'>,
  { id, name }: Pick<Endpoint, 'id' | 'name'>,
  kind: ButtonKind,
): Html {
  return actionButton({
    action: `/endpoints/${id}/verify`,
    csrf,
    id: 'verify-button',
    label: 'Verify now',
    longLabel: `Verify now: the endpoint ${name}`,
    icon: 'check',
    kind,
  });
}

function verificationView(endpoint: Endpoint, verification: Verification): Html {
  const { at, verified, error } = verification;
  const verdict = verified
    ? html`${badge('positive', 'passed', 'check')} ${time(at)}`
    : html`${isUnprepared(endpoint) ? badge('neutral', 'not passed') : badge('negative', 'failed')} ${time(at)}`;
  const why =
    error === null
      ? null
      : notice({
          tone: isUnprepared(endpoint) ? 'info' : 'negative',
          title: sentence(withoutCode(error)),
          text: html`<p>${challengeAdvice(error, endpoint.customerId)} ${helpOf(endpoint)}</p>`,
        });
  const view = endpoint.verification === 'cloudevents' ? handshakeView : exchangeView;
  return html`<div class="stack"><p class="badges">${verdict}</p>${why}${view(endpoint, verification)}</div>`;
}

/** Both have the code that responds to a challenge. */
function helpOf({ id }: Endpoint): Html {
  return html`
    <a href="/endpoints/${id}/receiver">Receiver set-up</a> · <a href="${GUIDE_PATH}?endpoint=${id}">Guide</a>
  `;
}

const HANDSHAKE_LEAD =
  'Verification sends the OPTIONS request of CloudEvents. The receiver answers whose requests it allows, and how many a minute.';

/** The handshake of CloudEvents. */
function handshakeView({ url, allowedRequestsPerMinute: rate }: Endpoint, verification: Verification): Html {
  const { exchange, responseStatus, responseBody, verified } = verification;
  const came = exchange?.came ?? null;
  const isSuccess = responseStatus !== null && responseStatus >= 200 && responseStatus < 300;
  const allows = came === '*' || came?.toLowerCase() === exchange?.wanted;
  return html`
    <div class="exchange">
      ${column('Sent', [line(`OPTIONS ${pathAndQuery(new URL(url))}`), line(`${REQUEST_ORIGIN}: ${exchange?.token ?? '…'}`)])}
      ${column('Expected', [
        line('2xx'),
        line(`${ALLOWED_ORIGIN}: ${exchange?.wanted ?? '…'}`),
        note('or *'),
        line(`${ALLOWED_RATE}: (requests a minute)`),
        note('optional, or *'),
      ])}
      ${column(
        'Received',
        responseStatus === null
          ? [compared('no response', false)]
          : [
              compared(String(responseStatus), isSuccess),
              compared(`${ALLOWED_ORIGIN}: ${came ?? '(missing)'}`, allows),
              ...(verified ? [line(`${ALLOWED_RATE}: ${rate ?? '(no limit)'}`)] : []),
              responseBody === null || responseBody === '' ? note('no body') : line(responseBody),
            ],
      )}
    </div>
  `;
}

/** A changed URL clears the verification, so the exchange was always with the present URL. */
function exchangeView({ id, url }: Endpoint, { exchange, responseStatus, responseBody, verified }: Verification): Html {
  const target = pathAndQuery(new URL(url));
  const token = exchange?.token ?? '…';
  const came = exchange?.came ?? null;
  const isSigned = verified || (came !== null && came === exchange?.wanted);
  return html`
    <div class="exchange">
      ${column('Sent', [
        line(`POST ${target}`),
        line('content-type: application/json'),
        line('x-api-key: (the API key)'),
        line(`${challengeHeader}: ${token}`),
        line(''),
        line(challengeBody(id)),
      ])}
      ${column('Expected', [
        line('200'),
        line(`${challengeHeader}: ${exchange?.wanted ?? '(the signature)'}`),
        note('Base64 HMAC-SHA256 with the secret, of'),
        line(`POST${target}${token}`),
      ])}
      ${column('Received', cameLines({ responseStatus, responseBody, came, isSigned }))}
    </div>
  `;
}

type Came = {
  readonly responseStatus: number | null;
  readonly responseBody: string | null;
  readonly came: string | null;
  readonly isSigned: boolean;
};

function cameLines({ responseStatus, responseBody, came, isSigned }: Came): Html[] {
  if (responseStatus === null) return [compared('no response', false)];
  return [
    compared(String(responseStatus), responseStatus === 200),
    compared(`${challengeHeader}: ${came ?? (isSigned ? '(the signature)' : '(missing)')}`, isSigned),
    line(''),
    responseBody === null || responseBody === '' ? note('no body') : line(responseBody),
  ];
}

function column(title: string, lines: readonly Html[]): Html {
  return html`
    <div class="exchange-side">
      <h3>${title}</h3>
      <div class="exchange-lines" tabindex="0" role="group" aria-label="${title}">${lines}</div>
    </div>
  `;
}

function line(text: string): Html {
  return html`<p class="exchange-line">${text}</p>`;
}

function note(text: string): Html {
  return html`<p class="exchange-note">${text}</p>`;
}

/** A line of the response. Screen readers hear whether it is as expected. */
function compared(text: string, isRight: boolean): Html {
  return html`
    <p class="exchange-line ${isRight ? 'line-right' : 'line-wrong'}">
      <span class="visually-hidden">${isRight ? 'as expected: ' : 'not as expected: '}</span>
      ${text}
    </p>
  `;
}

/** Advice for the owner of the endpoint about the error of a challenge, by its code or status. */
export function challengeAdvice(error: string, customerId: string | null): string {
  const [code = ''] = error.split(':', 1);
  return ADVICE[code] ?? statusAdvice(error) ?? adviceForOwner(customerId, code as ErrorClass, null, error);
}

const ADVICE: Readonly<Record<string, string>> = {
  missing_answer:
    `The receiver must return the signature of the challenge in the response header ${challengeHeader}. “Receiver ` +
    'set-up” has the code for it.',
  malformed_answer:
    'The signature has 44 Base64 characters: all 32 bytes. Do not send hexadecimal digits or the challenge itself.',
  wrong_answer:
    'Compare the secret on both sides. Decode a Base64 secret before you use it. Sign POST, the path with its ' +
    'query as sent, and the challenge, concatenated without separators.',
  missing_origin: `The receiver must answer OPTIONS with ${ALLOWED_ORIGIN}: the origin that was sent, or *.`,
  wrong_origin: `The receiver allows another origin. Have it allow the one in ${REQUEST_ORIGIN}.`,
  no_rate: `The receiver allows no requests. Raise its ${ALLOWED_RATE}.`,
  malformed_rate: `${ALLOWED_RATE} must be a number of requests a minute, or *.`,
  timeout: `The receiver has ${CHALLENGE_TIMEOUT_MS / 1000} seconds to answer a challenge.`,
};

function statusAdvice(error: string): string | undefined {
  const status = statusInMessage(error);
  if (status === null) return undefined;
  if (status >= 200 && status < 300) return 'The response to a challenge must have the status 200.';
  return adviceFor('http_status', status);
}

/** Removes the error code at the beginning. */
export function withoutCode(error: string): string {
  return error.replace(/^[a-z_]+: /, '');
}
