/** `/endpoints/{id}`: the state of an endpoint, its last challenge, its credentials and its webhooks. */
import type { OauthTest } from '../../delivery/oauth.ts';
import { type Html, html } from '../../http/html.ts';
import { NO_USES, type Uses } from '../../store/directory.ts';
import { currentApiKey, type Endpoint, signingSecretCreatedAt } from '../../webhooks/endpoint.ts';
import type { PageCall, View } from '../call.ts';
import { stateBadge } from '../parts/badge.ts';
import { actionButton, buttonRow, linkButton } from '../parts/button.ts';
import { copyable } from '../parts/code.ts';
import { definitionList } from '../parts/details.ts';
import { pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/notice.ts';
import { emptyState, table } from '../parts/table.ts';
import { relativeTime, time } from '../parts/time.ts';
import { challengeSection } from './challenge.ts';
import { oauthSection } from './oauth.ts';
import { endpointBadges, endpointSentence, endpointWarnings, type Warning, waitsUntil } from './standing.ts';

/** `uses` is null if no webhook sends here. `tested` is the result of an OAuth test just made, or null. */
export function endpointView(call: PageCall, endpoint: Endpoint, uses: Uses | null, tested: OauthTest | null): View {
  const { id, name, url } = endpoint;
  const warnings = endpointWarnings(endpoint, uses ?? NO_USES, call.now).filter(({ about }) => about !== 'challenge');
  const content = html`${pageHeader({
    title: name,
    crumbs: [{ href: '/endpoints', label: 'Endpoints' }],
    badges: endpointBadges(endpoint),
    lead: html`<p>${copyable(url, 'address')}</p><p>${endpointSentence(endpoint)}</p>`,
    actions: [
      call.may('administrator') ? switchButton(call, endpoint) : null,
      call.may('administrator') ? linkButton({ href: `/endpoints/${id}/edit`, label: 'Change', icon: 'edit' }) : null,
      linkButton({ href: `/endpoints/${id}/receiver`, label: 'What the receiver needs' }),
    ],
  })}${warningNotice(warnings)}${challengeSection(call, endpoint)}${credentials(call, endpoint)}${oauthSection(call, endpoint, tested)}${webhooks(call, endpoint, uses)}${call.may('administrator') ? removal(endpoint) : null}`;
  return { title: name, content };
}

/** Pending rotations show with the credentials, and the challenge has its own section. */
function warningNotice(all: readonly Warning[]): Html | null {
  const warnings = all.filter(({ tone }) => tone !== 'info');
  if (warnings.length === 0) return null;
  const tone = warnings.some((warning) => warning.tone === 'negative') ? 'negative' : 'caution';
  return notice({ tone, text: html`<ul class="warnings">${warnings.map(({ text }) => html`<li>${text}</li>`)}</ul>` });
}

function switchButton({ csrf }: PageCall, { id, name, enabled, tokenChallenge, verified }: Endpoint): Html | null {
  // Only a correct answer enables an endpoint with a challenge.
  if (!enabled && tokenChallenge && !verified) return null;
  const verb = enabled ? 'disable' : 'enable';
  const label = enabled ? 'Disable' : 'Enable';
  return actionButton({
    action: `/endpoints/${id}/${verb}`,
    csrf,
    label,
    longLabel: `${label} the endpoint ${name}`,
    icon: enabled ? 'stop' : 'play',
  });
}

function credentials(call: PageCall, endpoint: Endpoint): Html {
  const { id, nextApiKey, contentEncoding, clientCertificate, clientCertificateExpiresAt, createdAt, updatedAt } =
    endpoint;
  const rotates = (action: string, label: string): Html | null =>
    call.may('administrator') ? linkButton({ href: `/endpoints/${id}/${action}`, label, icon: 'replay' }) : null;
  const secretWaits = waitsUntil(endpoint.nextSecretAt, call.now);
  const keyWaits = waitsUntil(endpoint.nextApiKeyAt, call.now);
  return section({
    id: 'credentials',
    title: 'How requests prove who sent them',
    actions: [rotates('rotate-secret', 'New secret'), rotates('rotate-api-key', 'New API key')],
    content: definitionList([
      [
        'Secret',
        html`made ${relativeTime(signingSecretCreatedAt(endpoint, call.now), call.now)} <span class="quiet">(kept sealed, never shown again)</span>`,
        endpoint.oauthTokenUrl === null
          ? 'Signs every request.'
          : 'Answers challenges; requests carry a bearer token in place of a signature.',
      ],
      ...(secretWaits === null
        ? []
        : [
            [
              'Next secret',
              html`signs from ${time(secretWaits)} on (${relativeTime(secretWaits, call.now)})`,
              'Until then the receiver should take either.',
            ] as const,
          ]),
      ['API key', copyable(currentApiKey(endpoint, call.now).reveal(), 'API key'), 'In X-Api-Key of every request.'],
      ...(keyWaits === null || nextApiKey === null
        ? []
        : [
            [
              'Next API key',
              html`${copyable(nextApiKey.reveal(), 'next API key')} from ${time(keyWaits)} on (${relativeTime(keyWaits, call.now)})`,
              'Until then the receiver should take either.',
            ] as const,
          ]),
      [
        'Client certificate',
        clientCertificate === null || clientCertificateExpiresAt === null
          ? 'none'
          : html`expires ${time(clientCertificateExpiresAt)} (${relativeTime(clientCertificateExpiresAt, call.now)})`,
      ],
      ['Compression', contentEncoding ?? 'none'],
      ['Endpoint id', copyable(id)],
      ['Created', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  });
}

function webhooks(call: PageCall, { id }: Endpoint, uses: Uses | null): Html {
  const create = call.may('administrator')
    ? linkButton({
        href: `/webhooks/new?endpoint=${id}`,
        label: 'New webhook',
        icon: 'plus',
        kind: uses === null ? 'primary' : 'plain',
      })
    : null;
  const all =
    uses !== null && uses.count > uses.first.length
      ? linkButton({ href: `/webhooks?endpoint=${id}`, label: `All ${uses.count}` })
      : null;
  return section({
    title: 'Webhooks that send here',
    actions: uses === null ? [] : [all, create],
    isPlain: true,
    content: table({
      caption: 'Webhooks that send here',
      columns: [{ label: 'Webhook', kind: 'main' }, { label: 'State' }],
      rows: (uses ?? NO_USES).first.map((use) => [
        html`<a href="/webhooks/${use.id}">${use.name}</a>`,
        stateBadge(use.state),
      ]),
      empty: emptyState({
        title: 'Nothing is sent here yet',
        text: html`<p>A webhook says which events go to this endpoint.</p>`,
        action: create,
      }),
    }),
  });
}

function removal({ id }: Endpoint): Html {
  return section({
    title: 'Delete',
    lead: 'With its API key and its secret. Only where no webhook sends here.',
    content: buttonRow([linkButton({ href: `/endpoints/${id}/delete`, label: 'Delete the endpoint', icon: 'trash' })]),
  });
}
