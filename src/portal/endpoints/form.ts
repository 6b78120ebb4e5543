/** The fields of an endpoint. Optional settings are collapsed. */
import { attributes, type Html, html } from '../../http/html.ts';
import { isObject } from '../../kernel/validation.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import { type EndpointView, viewEndpoint } from '../../webhooks/endpoint-schema.ts';
import {
  type Body,
  type FieldTable,
  lines,
  number,
  oneOf,
  secretLines,
  secretText,
  text,
  tick,
} from '../field-table.ts';
import { idOf } from '../parts/fields.ts';
import type { FormLayout } from '../record-pages.ts';

export function endpointFields(before: Endpoint | null): FieldTable {
  return {
    name: text({ label: 'Name', isRequired: true, hint: 'What your colleagues will look for, such as the customer.' }),
    url: text({
      label: 'Address',
      type: 'url',
      isRequired: true,
      isCode: true,
      placeholder: 'https://hooks.example.com/in',
      hint: `https: and a public address.${before === null ? '' : ' With another address it has to answer the challenge anew.'}`,
    }),
    tokenChallenge: oneOf(
      {
        label: 'Before anything is sent',
        choices: [
          {
            value: 'true',
            label: 'The receiver proves that it holds the secret',
            hint: 'Recommended. It is sent a challenge and has to sign it. Until it does, nothing else is sent: a wrong address gets no data.',
          },
          { value: 'false', label: 'Nothing has to be proved', hint: 'The endpoint is enabled at once.' },
        ],
      },
      { read: (sent, name) => sent.get(name) === 'true' },
    ),
    ...(before === null && credentials()),
    contentEncoding: tick(
      {
        label: 'Compress bodies with gzip',
        hint: 'The receiver unpacks them: Content-Encoding: gzip, or X-Original-Encoding: gzip where bodies are encrypted.',
      },
      'gzip',
      null,
    ),
    ...oauth(before?.oauthClientSecret != null),
    ...clientCertificate(before?.clientPrivateKey != null),
  };
}

function credentials(): FieldTable {
  return {
    secret: secretText({
      label: 'Secret',
      autocomplete: 'off',
      hint: 'Signs every request. Base64, or any text. Left empty, 32 random bytes are made, which is better.',
    }),
    apiKey: text({
      label: 'API key',
      isCode: true,
      autocomplete: 'off',
      hint: '32 hexadecimal digits, sent as X-Api-Key. Left empty, one is made.',
    }),
  };
}

function oauth(isKept: boolean): FieldTable {
  return {
    'oauth.use': tick({
      label: 'Send a bearer token',
      hint: 'For receivers behind a gateway that takes tokens alone. One is asked for with the client credentials grant, and kept until shortly before it expires. Without it requests are signed with the secret.',
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
        ? 'Left empty, the one that is kept stays. For a token URL at another server it has to be typed again.'
        : 'Kept sealed, and never shown again.',
    }),
    'oauth.scopes': text({
      label: 'Scopes',
      isCode: true,
      hint: 'As the token server wants them, separated by spaces.',
    }),
    'oauth.tokenExpirationMinutes': number({
      label: 'Minutes that a token is good for',
      min: 1,
      hint: 'Counts where the server does not say when a token expires.',
    }),
  };
}

function clientCertificate(isKept: boolean): FieldTable {
  const pem = { isRequired: true, isCode: true, rows: 5 } as const;
  return {
    'clientCertificate.use': tick({
      label: 'Show a client certificate',
      hint: `For receivers that ask who connects.${isKept ? ' Without it, the one that is kept is deleted.' : ''}`,
    }),
    'clientCertificate.certificate': lines({
      ...pem,
      label: 'Certificate',
      placeholder: '-----BEGIN CERTIFICATE-----',
      takesFile: '.pem,.crt,.cer',
      hint: 'In PEM, with the chain below it where there is one.',
    }),
    'clientCertificate.privateKey': secretLines({
      ...pem,
      label: 'Private key',
      placeholder: '-----BEGIN PRIVATE KEY-----',
      takesFile: '.pem,.key',
      hint: isKept
        ? 'Left empty, the one that is kept stays.'
        : 'In PEM, not encrypted. Kept sealed, and never shown again.',
    }),
  };
}

export function endpointLayout({ state, before, group, more, within }: FormLayout<Endpoint, null>): Html {
  /** Collapsed unless the settings are in use or have a problem. */
  const optional = (name: string, title: string): Html => {
    const open = state.isChecked(`${name}.use`) || state.problem(name) !== null;
    return html`<details class="more-fields" id="${idOf(name)}"${attributes({ open })}><summary>${title}</summary><div class="fields">${within(name)}</div></details>`;
  };
  return html`${group('Where', null, 'name', 'url')}${group('Proof', null, 'tokenChallenge')}${
    before === null ? more('Use a secret or an API key that you agreed on already', 'secret', 'apiKey') : null
  }${more('Compression', 'contentEncoding')}${optional('oauth', 'OAuth: a bearer token in place of the signature')}${optional('clientCertificate', 'Client certificate: for mutual TLS')}`;
}

/** The endpoint as its form shows it. `use` tells whether it has these settings. */
export function shownEndpoint(view: EndpointView): Body {
  const { oauth, clientCertificate, ...rest } = view;
  return {
    ...rest,
    oauth: { tokenExpirationMinutes: 60, ...oauth, use: oauth !== null },
    clientCertificate: { ...clientCertificate, use: clientCertificate !== null },
  };
}

/** Removes `use`, and the settings that are not used. In a new form, a filled field means that they are used. */
export function usedSettings(body: Body, isNew: boolean): Body {
  const used = (settings: unknown): unknown => {
    const { use, ...fields } = isObject(settings) ? settings : {};
    const { tokenExpirationMinutes, ...typed } = fields;
    const isFilled = isNew && Object.values(typed).some((value) => value !== '');
    return use === true || isFilled ? fields : null;
  };
  return { ...body, oauth: used(body.oauth), clientCertificate: used(body.clientCertificate) };
}

/** The endpoint without `updatedAt`, which the service writes too, for example when it warns that the certificate expires. */
export function endpointSettings(endpoint: Endpoint, now: number): unknown {
  const { updatedAt, ...settings } = viewEndpoint(endpoint, now);
  return settings;
}
