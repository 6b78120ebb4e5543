/** The OAuth settings of an endpoint, and the result of a request for a token. */
import type { OauthTest } from '../../delivery/oauth.ts';
import type { Endpoint } from '../../domain/endpoint.ts';
import { type Html, html } from '../../http/html.ts';
import type { PageCall } from '../frame/call.ts';
import { codeBlock, copyable, definitionList } from '../parts/details.ts';
import { section, submitButton } from '../parts/header.ts';
import { badge, notice } from '../parts/mark.ts';
import { sentence, spanText, time } from '../parts/text.ts';

/** `result` is that of a test just made, or null. */
export function oauthSection(call: PageCall, endpoint: Endpoint, result: OauthTest | null): Html | null {
  const { oauthTokenUrl: tokenUrl, oauthClientId: clientId } = endpoint;
  if (tokenUrl === null || clientId === null) return null;
  return section({
    id: 'oauth',
    title: 'OAuth',
    lead: 'Requests carry a bearer token from this server instead of a signature.',
    actions: [call.may('operator') ? testButton(call, endpoint) : null],
    content: html`
      <div class="stack">
        ${result === null ? null : resultView(result)}
        ${definitionList([
          ['Token URL', copyable(tokenUrl, 'token URL')],
          ['Client id', copyable(clientId, 'client id')],
          ['Client secret', html`<span class="quiet">stored encrypted, never shown</span>`],
          ['Scopes', endpoint.oauthScopes === null ? null : html`<code>${endpoint.oauthScopes}</code>`],
          [
            'Token lifetime',
            `${endpoint.oauthTokenExpirationMinutes ?? 60} minutes`,
            'Used if the server does not return expires_in.',
          ],
        ])}
      </div>
    `,
  });
}

/** The script replaces only this section. */
function testButton({ csrf }: PageCall, { id, name }: Endpoint): Html {
  const action = `/endpoints/${id}/test-oauth`;
  return html`
    <form
      method="post"
      action="${action}"
      class="inline-form"
      data-hx-post="${action}"
      data-hx-target="#oauth"
      data-hx-swap="outerHTML"
    >
      ${csrf}
      ${submitButton({
        label: 'Request a token',
        longLabel: `Request a token with the settings of ${name}`,
        kind: 'plain',
        icon: 'send',
      })}
    </form>
  `;
}

function resultView(result: OauthTest): Html {
  const { issued, error, advice, at, timings } = result;
  const took = timings.totalMs === null ? '' : ` after ${spanText(timings.totalMs)}`;
  const verdict = issued
    ? notice({
        tone: 'positive',
        title: `The server issued a token${took}.`,
        text: 'The token was discarded. It is neither stored nor shown.',
      })
    : notice({ tone: 'negative', title: sentence(error ?? 'no token was issued'), text: advice ?? '' });
  const answer =
    result.responseStatus === null
      ? null
      : html`
        ${definitionList([
          ['Requested', time(at)],
          [
            'Status',
            html`${result.responseStatus === 200 ? badge('positive', '200', 'check') : badge('negative', String(result.responseStatus))}`,
          ],
          ['token_type', code(result.tokenType)],
          ['expires_in', code(result.expiresIn)],
          ['scope', code(result.scope)],
        ])}
        ${codeBlock({
          code: result.responseBody === '' ? '(empty)' : (result.responseBody ?? ''),
          label: 'Response body, tokens masked',
        })}
      `;
  return html`<div class="stack" role="status">${verdict}${answer}</div>`;
}

function code(text: string | null): Html | null {
  return text === null ? null : html`<code>${text}</code>`;
}
