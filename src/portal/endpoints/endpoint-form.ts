/** The fields of an endpoint. Optional settings are collapsed. */

import type { Endpoint } from '../../domain/endpoint.ts';
import type { EventType } from '../../domain/event.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { isObject } from '../../kernel/validation.ts';
import { type EndpointView, viewEndpoint } from '../../webhooks/endpoint-schema.ts';
import { idOf } from '../parts/fields.ts';
import {
  type Body,
  type FieldTable,
  type FormField,
  lines,
  number,
  oneOf,
  secretLines,
  secretText,
  text,
  tick,
} from '../record/field-table.ts';
import type { FormLayout } from '../record/record-pages.ts';
import { eventsField } from '../webhooks/webhook-events.ts';
import { authenticationFields, authenticationGroups, chosenAuthentication } from './authentication-fields.ts';
import { endpointSummaryRegion } from './endpoint-summary.ts';

/** `eventTypes`: the types that a new endpoint can get without a key. */
export function endpointFields(before: Endpoint | null, eventTypes: readonly EventType[]): FieldTable {
  return {
    name: text({
      label: 'Name',
      isRequired: true,
      placeholder: 'Shop backend',
      hint: 'Shown in lists and in messages about failures.',
    }),
    url: text({
      label: 'Address',
      type: 'url',
      isRequired: true,
      isCode: true,
      placeholder: 'https://hooks.example.com/in',
      hint: 'An HTTPS URL with a public address.',
    }),
    tokenChallenge: oneOf(
      {
        label: 'Ownership',
        isLabelHidden: true,
        choices: [
          {
            value: 'true',
            label: 'Verify ownership before anything is sent',
            hint:
              'Recommended. The receiver must sign a challenge with the secret. Until then nothing else is sent, ' +
              `so a wrong address gets no data.${before === null ? '' : ' A new address must be verified again.'}`,
          },
          {
            value: 'cloudevents',
            label: 'CloudEvents handshake (OPTIONS)',
            hint:
              'For receivers of CloudEvents that answer OPTIONS. The receiver must allow requests from here, and may ' +
              'limit them to a number a minute.',
          },
          {
            value: 'false',
            label: 'Do not verify',
            hint: before === null ? 'The endpoint is enabled immediately.' : 'A new address gets events immediately.',
          },
        ],
      },
      { read: (sent, name) => sent.get(name) === 'true' },
    ),
    verification: HANDSHAKE,
    ...(before === null && eventTypes.length > 0 && { eventTypes: eventsOf(eventTypes) }),
    ...(before === null && credentials()),
    contentEncoding: tick(
      {
        label: 'Compress bodies with gzip',
        hint: 'The receiver must decompress them. The header is Content-Encoding: gzip, or X-Original-Encoding: gzip for encrypted bodies.',
      },
      'gzip',
      null,
    ),
    ...authenticationFields(before),
    ...oauth(before?.oauthClientSecret != null),
    ...clientCertificate(before?.clientPrivateKey != null),
  };
}

/** Chosen as one of the choices of `tokenChallenge`. */
const HANDSHAKE: FormField = {
  title: 'Ownership',
  draw: () => html``,
  read: (sent) => (sent.get('tokenChallenge') === 'cloudevents' ? 'cloudevents' : null),
  fill: () => ({}),
};
/** Not a field of the API: the form makes a webhook with these events too. */
function eventsOf(eventTypes: readonly EventType[]): FormField {
  const question = {
    title: 'Which events?',
    lead:
      'A webhook of the same name sends them here. Leave this empty to choose later. Filters and encryption are in the ' +
      'settings of the webhook.',
    hasOthers: false,
  };
  return { ...eventsField(eventTypes, question), read: () => undefined };
}

function credentials(): FieldTable {
  return {
    secret: secretText({
      label: 'Secret',
      autocomplete: 'off',
      hint: 'Signs every request. Base64, or any text. If empty, 32 random bytes are generated (recommended).',
    }),
    apiKey: text({
      label: 'API key',
      isCode: true,
      autocomplete: 'off',
      hint: '32 hexadecimal digits, sent in the header x-api-key. If empty, one is generated.',
    }),
  };
}

function oauth(isKept: boolean): FieldTable {
  return {
    'oauth.use': tick({
      label: 'Send a bearer token',
      hint:
        'For receivers behind a gateway that accepts only tokens. One is requested with the client credentials ' +
        'grant and cached until shortly before it expires. Without this, requests are signed with the secret.',
    }),
    'oauth.tokenUrl': text({
      label: 'Token URL',
      type: 'url',
      isRequired: true,
      isCode: true,
      placeholder: 'https://login.example.com/token',
    }),
    'oauth.clientId': text({ label: 'Client id', isRequired: true, isCode: true, autocomplete: 'off' }),
    'oauth.clientSecret': secretText({
      label: 'Client secret',
      isRequired: true,
      hint: isKept
        ? 'Leave empty to keep the current one. Enter it again for a token URL at another server.'
        : 'Stored encrypted, never shown again.',
    }),
    'oauth.scopes': text({
      label: 'Scopes',
      isCode: true,
      hint: 'As the token server expects them, separated by spaces.',
    }),
    'oauth.tokenExpirationMinutes': number({
      label: 'Token lifetime (minutes)',
      min: 1,
      hint: 'Used if the server does not return expires_in.',
    }),
  };
}

function clientCertificate(isKept: boolean): FieldTable {
  const pem = { isRequired: true, isCode: true, rows: 5 } as const;
  return {
    'clientCertificate.use': tick({
      label: 'Present a client certificate',
      hint: `For receivers that require mutual TLS.${isKept ? ' If unticked, the stored certificate is deleted.' : ''}`,
    }),
    'clientCertificate.certificate': lines({
      ...pem,
      label: 'Certificate',
      placeholder: '-----BEGIN CERTIFICATE-----',
      takesFile: '.pem,.crt,.cer',
      hint: 'In PEM format, followed by its chain, if any.',
    }),
    'clientCertificate.privateKey': secretLines({
      ...pem,
      label: 'Private key',
      placeholder: '-----BEGIN PRIVATE KEY-----',
      takesFile: '.pem,.key',
      hint: isKept
        ? 'Leave empty to keep the current one.'
        : 'In PEM format, without a password. Stored encrypted, never shown again.',
    }),
  };
}

export function endpointLayout({
  state,
  before,
  field,
  group,
  more,
  within,
  isSet,
}: FormLayout<Endpoint, readonly EventType[]>): Html {
  /** Whether the settings are in use or have a problem. */
  const isUsed = (name: string): boolean =>
    state.isChecked(`${name}.use`) || state.value(`${name}.method`) !== '' || state.problem(name) !== null;
  /** Collapsed unless it is used. */
  const optional = (name: string, title: string, fields: readonly (Html | null)[] = within(name)): Html => html`
    <details class="more-fields" id="${idOf(name)}"${attributes({ open: isUsed(name) })}>
      <summary>${title}</summary>
      <div class="fields">${fields}</div>
    </details>
  `;
  const open = isSet('contentEncoding', ...HEADERS) || OPTIONAL.some(isUsed);
  return html`
    ${group('Endpoint', null, 'name', 'url')}
    ${field('eventTypes')}
    ${group('Ownership', null, 'tokenChallenge')}
    ${before === null ? more('Use an existing secret or API key', 'secret', 'apiKey') : renewals(before)}
    <details class="advanced"${attributes({ open })}>
      <summary>Advanced <span class="hint">The defaults suit most receivers.</span></summary>
      ${more('Compression', 'contentEncoding')}
      ${optional('authentication', 'Another authentication than the signature', [
        field('authentication.method'),
        authenticationGroups(field),
      ])}
      ${more('Headers, API key and public-key signatures', ...HEADERS)}
      ${optional('oauth', 'OAuth: a bearer token instead of the signature')}
      ${optional('clientCertificate', 'Client certificate: for mutual TLS')}
    </details>
    ${before === null ? endpointSummaryRegion(state.fields) : null}
  `;
}

/** Credentials have pages of their own. */
function renewals({ id }: Endpoint): Html {
  return html`
    <p>
      The secret and the API key have pages of their own: <a href="/endpoints/${id}/rotate-secret">New secret</a>,
      <a href="/endpoints/${id}/rotate-api-key">New API key</a>.
    </p>
  `;
}

const HEADERS = ['requestHeaders', 'sendApiKey', 'signatureType'] as const;
const OPTIONAL = ['authentication', 'oauth', 'clientCertificate'] as const;

/** The endpoint as its form shows it. `use` tells whether it has these settings. */
export function shownEndpoint(view: EndpointView): Body {
  const { oauth, clientCertificate, tokenChallenge, ...rest } = view;
  return {
    ...rest,
    tokenChallenge: view.verification ?? tokenChallenge,
    oauth: { tokenExpirationMinutes: 60, ...oauth, use: oauth !== null },
    clientCertificate: { ...clientCertificate, use: clientCertificate !== null },
  };
}

/** Removes `use`, and unused settings. In a new form, a filled field means that they are used. */
export function usedSettings(body: Body, isNew: boolean): Body {
  const used = (settings: unknown): unknown => {
    const { use, ...fields } = isObject(settings) ? settings : {};
    const { tokenExpirationMinutes, ...typed } = fields;
    const isFilled = isNew && Object.values(typed).some((value) => value !== '');
    return use === true || isFilled ? fields : null;
  };
  const authentication = chosenAuthentication(body.authentication);
  return { ...body, authentication, oauth: used(body.oauth), clientCertificate: used(body.clientCertificate) };
}

/** The endpoint without `updatedAt`, which the service writes too, for example when it warns that the certificate expires. */
export function endpointSettings(endpoint: Endpoint, now: number): unknown {
  const { updatedAt, ...settings } = viewEndpoint(endpoint, now);
  return settings;
}
