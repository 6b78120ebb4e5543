/** The OAuth settings of an endpoint, and the result of a test. */
import type { OauthTest } from '../../delivery/oauth.ts';
import { type Html, html } from '../../http/html.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import type { PageCall } from '../call.ts';
import { badge } from '../parts/badge.ts';
import { submitButton } from '../parts/button.ts';
import { codeBlock, copyable } from '../parts/code.ts';
import { definitionList } from '../parts/details.ts';
import { section } from '../parts/header.ts';
import { notice } from '../parts/notice.ts';
import { sentence } from '../parts/sentence.ts';
import { spanText, time } from '../parts/time.ts';

/** `result` is that of a test just made, or null. */
export function oauthSection(call: PageCall, endpoint: Endpoint, result: OauthTest | null): Html | null {
  const { oauthTokenUrl: tokenUrl, oauthClientId: clientId } = endpoint;
  if (tokenUrl === null || clientId === null) return null;
  return section({
    id: 'oauth',
    title: 'OAuth',
    lead: 'Requests carry a bearer token from this server in place of a signature.',
    actions: [call.may('operator') ? testButton(call, endpoint) : null],
    content: html`<div class="stack">${result === null ? null : resultView(result)}${definitionList([
      ['Token URL', copyable(tokenUrl, 'token URL')],
      ['Client id', copyable(clientId, 'client id')],
      ['Client secret', html`<span class="quiet">kept sealed, never shown</span>`],
      ['Scopes', endpoint.oauthScopes === null ? null : html`<code>${endpoint.oauthScopes}</code>`],
      [
        'A token is good for',
        `${endpoint.oauthTokenExpirationMinutes ?? 60} minutes`,
        'Where the server does not say when it expires.',
      ],
    ])}</div>`,
  });
}

/** The script replaces only this section. */
function testButton({ csrf }: PageCall, { id, name }: Endpoint): Html {
  const action = `/endpoints/${id}/test-oauth`;
  return html`<form method="post" action="${action}" class="inline-form" hx-post="${action}" hx-target="#oauth" hx-swap="outerHTML">${csrf}${submitButton({ label: 'Ask for a token', longLabel: `Ask for a token with the settings of ${name}`, kind: 'plain', icon: 'send' })}</form>`;
}

function resultView(result: OauthTest): Html {
  const { issued, error, advice, at, timings } = result;
  const took = timings.totalMs === null ? '' : ` after ${spanText(timings.totalMs)}`;
  const verdict = issued
    ? notice({
        tone: 'positive',
        title: `A token came${took}.`,
        text: 'It was neither kept nor used, and is not shown.',
      })
    : notice({ tone: 'negative', title: sentence(error ?? 'no token came'), text: advice ?? '' });
  const answer =
    result.responseStatus === null
      ? null
      : html`${definitionList([
          ['Asked', time(at)],
          [
            'Status',
            html`${result.responseStatus === 200 ? badge('positive', '200', 'check') : badge('negative', String(result.responseStatus))}`,
          ],
          ['token_type', code(result.tokenType)],
          ['expires_in', code(result.expiresIn)],
          ['scope', code(result.scope)],
        ])}${codeBlock({ code: result.responseBody === '' ? '(empty)' : (result.responseBody ?? ''), label: 'Body of the answer, tokens masked', isWrapped: true })}`;
  return html`<div class="stack" role="status">${verdict}${answer}</div>`;
}

function code(text: string | null): Html | null {
  return text === null ? null : html`<code>${text}</code>`;
}
