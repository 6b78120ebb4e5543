/** The tab “Settings” of an endpoint: its credentials, its requests, OAuth, and ownership once it is verified. */
import type { OauthTest } from '../../delivery/oauth.ts';
import {
  type Authentication,
  currentApiKey,
  currentAuthentication,
  type Endpoint,
  isUnverified,
  publicKeys,
  type RequestHeader,
  signingSecretCreatedAt,
} from '../../domain/endpoint.ts';
import { authenticationHeader } from '../../domain/endpoint-headers.ts';
import { type Html, html } from '../../http/html.ts';
import type { Uses } from '../../store/port/directory.ts';
import { PUBLIC_KEY_PREFIX } from '../../wire/ed25519.ts';
import type { PageCall } from '../frame/call.ts';
import { operatorName } from '../parts/brand.ts';
import { copyable, type Definition, definitionList, maskedValue } from '../parts/details.ts';
import { linkButton, section } from '../parts/header.ts';
import { type HeldRecord, removalSection } from '../parts/removal.ts';
import { countOf, relativeTime, time } from '../parts/text.ts';
import { authenticationText } from './authentication-fields.ts';
import { challengeSection, verifyButton } from './challenge-section.ts';
import { waitsUntil } from './endpoint-detail.ts';
import { GUIDE_PATH } from './guide-text.ts';
import { oauthSection } from './oauth-section.ts';

/** `uses`: null if no webhook sends here. `tested` is the result of an OAuth test just made, or null. */
export function endpointSettingsTab(
  call: PageCall,
  endpoint: Endpoint,
  { uses, tested }: { readonly uses: Uses | null; readonly tested: OauthTest | null },
): Html {
  return html`
    ${credentials(call, endpoint)}
    ${tokenRegion(call, endpoint, tested)}
    ${isUnverified(endpoint) ? null : challengeSection(endpoint, call.may('operator') ? verifyButton(call, endpoint, 'plain') : null)}
    <div class="columns columns-even">${requests(endpoint, call.now)}${identification(endpoint)}</div>
    ${call.may('administrator') ? removal(endpoint, uses) : null}
  `;
}

function credentials(call: PageCall, endpoint: Endpoint): Html {
  const { now } = call;
  const { id } = endpoint;
  const rotates = (action: string, label: string): Html | null =>
    call.may('administrator') ? linkButton({ href: `/endpoints/${id}/${action}`, label, icon: 'replay' }) : null;
  const authentication = currentAuthentication(endpoint, now);
  const authenticationWaits = waitsUntil(endpoint.nextAuthenticationAt, now);
  return section({
    id: 'credentials',
    title: 'Credentials',
    lead: `With these the receiver checks that a request comes from ${call.brand === null ? 'you' : operatorName(call.brand)}.`,
    actions: [
      rotates('rotate-secret', 'New secret'),
      rotates('rotate-api-key', 'New API key'),
      authentication === null ? null : rotates('rotate-authentication', 'New authentication'),
    ],
    content: definitionList([
      ...secretRows(call, endpoint, authentication),
      ...apiKeyRows(endpoint, now),
      ...publicKeys(endpoint, now).map(
        (key, at) =>
          [
            at === 0 ? 'Public key' : 'Other public key',
            copyable(PUBLIC_KEY_PREFIX + key, 'public key'),
            'Verifies v1a signatures of Standard Webhooks.',
          ] as const,
      ),
      [
        'Authentication',
        html`
          ${authenticationText(authentication, endpoint.oauthTokenUrl !== null)}${' '}
          <a href="${call.brand === null ? `/endpoints/${id}/receiver` : `${GUIDE_PATH}?endpoint=${id}`}">How to check it</a>
        `,
      ],
      ...(authenticationWaits === null
        ? []
        : [['Next authentication', html`sent from ${time(authenticationWaits)} on`] as const]),
    ]),
  });
}

function secretRows(
  { now, may }: PageCall,
  endpoint: Endpoint,
  authentication: Authentication | null,
): readonly Definition[] {
  const nextAt = waitsUntil(endpoint.nextSecretAt, now);
  const current: Definition = [
    'Secret',
    html`
      created ${relativeTime(signingSecretCreatedAt(endpoint, now), now)}${' '}
      <span class="quiet">(stored encrypted, never shown again)</span>
    `,
    signatureUse(endpoint, authentication),
  ];
  if (nextAt === null) return [current];
  const next = html`
    signs from ${time(nextAt)}${' '}
    ${may('administrator') ? html`<a href="/endpoints/${endpoint.id}/use-next-secret">Use it now</a>` : null}
  `;
  return [current, ['Next secret', next, ACCEPT_BOTH]];
}

function apiKeyRows(endpoint: Endpoint, now: number): readonly Definition[] {
  const { nextApiKey } = endpoint;
  const nextAt = waitsUntil(endpoint.nextApiKeyAt, now);
  const current: Definition = [
    'API key',
    maskedValue(currentApiKey(endpoint, now).reveal(), 'API key'),
    endpoint.sendApiKey ? 'In the header x-api-key of every request.' : 'Not sent.',
  ];
  if (nextAt === null || nextApiKey === null) return [current];
  const next = html`
    ${maskedValue(nextApiKey.reveal(), 'next API key')}
    from ${time(nextAt)} on (${relativeTime(nextAt, now)})
  `;
  return [current, ['Next API key', next, ACCEPT_BOTH]];
}

const ACCEPT_BOTH = 'Until then the receiver should accept both.';

function signatureUse({ oauthTokenUrl }: Endpoint, authentication: Authentication | null): string {
  const replaces = authentication !== null && authenticationHeader(authentication) === 'authorization';
  return oauthTokenUrl === null && !replaces
    ? 'Signs every request.'
    : 'Used for challenges and for signatures of webhooks: Authorization does not have it.';
}

function headerList(headers: readonly RequestHeader[]): Html {
  const lines = headers.map(
    ({ name, value, secret }) => html`<li><code>${name}: ${secret ? '[secret]' : value.reveal()}</code></li>`,
  );
  return html`<ul class="uses">${lines}</ul>`;
}

function requests({ requestHeaders, contentEncoding, clientCertificateExpiresAt }: Endpoint, now: number): Html {
  return section({
    title: 'Requests',
    id: 'requests',
    content: definitionList([
      ['Headers', requestHeaders === null ? 'none' : headerList(requestHeaders)],
      [
        'Client certificate',
        clientCertificateExpiresAt === null
          ? 'none'
          : html`expires ${time(clientCertificateExpiresAt)} (${relativeTime(clientCertificateExpiresAt, now)})`,
      ],
      ['Compression', contentEncoding ?? 'none'],
    ]),
  });
}

function identification({ id, createdAt, updatedAt }: Endpoint): Html {
  return section({
    title: 'Identification',
    id: 'identification',
    content: definitionList([
      ['Endpoint id', copyable(id)],
      ['Created', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  });
}

function removal({ id }: Endpoint, uses: Uses | null): Html {
  return removalSection({
    path: `/endpoints/${id}`,
    noun: 'endpoint',
    text: 'Deletes its API key and its secret too.',
    held: uses === null ? null : heldByWebhooks(id, uses),
  });
}

function heldByWebhooks(id: string, { count, first }: Uses): HeldRecord {
  const names = first.map((use, at) => html`${at === 0 ? '' : ', '}<a href="/webhooks/${use.id}">${use.name}</a>`);
  const more =
    count > first.length
      ? html` and <a href="/webhooks?endpoint=${id}">${countOf(count - first.length, 'other')}</a>`
      : null;
  return {
    title: `${count === 1 ? 'A webhook sends' : `${count} webhooks send`} here, so the endpoint cannot be deleted.`,
    text: html`First delete ${names}${more}, or change ${count === 1 ? 'its' : 'their'} endpoint.`,
  };
}

/** A live update leaves the result of a test as it is. */
function tokenRegion(call: PageCall, endpoint: Endpoint, tested: OauthTest | null): Html | null {
  const shown = oauthSection(call, endpoint, tested);
  return shown === null ? null : html`<div id="oauth-region" data-hx-morph-skip>${shown}</div>`;
}
