/** The fields of an endpoint, for its creation and for a change: what everybody needs first, the rest folded away. */
import { attributes, type Html, html } from '../../http/html.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import { checkbox, radioGroup } from '../parts/choices.ts';
import { idOf, numberField, textArea, textField } from '../parts/fields.ts';
import { fieldGroup, moreFields } from '../parts/form.ts';
import { type FormState, newForm } from '../parts/form-state.ts';

/** Names of fields in the summary of what was wrong. */
export const ENDPOINT_LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  url: 'Address',
  apiKey: 'API key',
  secret: 'Secret',
  enabled: 'Enabled',
  'oauth.clientId': 'Client id',
  'oauth.clientSecret': 'Client secret',
  'oauth.tokenUrl': 'Token URL',
  'oauth.tokenExpirationMinutes': 'Minutes that a token is good for',
  'oauth.scopes': 'Scopes',
  'clientCertificate.certificate': 'Certificate',
  'clientCertificate.privateKey': 'Private key',
};

export function newEndpointForm(): FormState {
  return newForm({ tokenChallenge: 'false', 'oauth.tokenExpirationMinutes': 60 });
}

/** What an endpoint has now. Its secrets are in no field: left empty they stay. */
export function endpointForm(endpoint: Endpoint): FormState {
  return newForm({
    name: endpoint.name,
    url: endpoint.url,
    gzip: endpoint.contentEncoding === 'gzip',
    tokenChallenge: String(endpoint.tokenChallenge),
    'oauth.use': endpoint.oauthTokenUrl !== null,
    'oauth.clientId': endpoint.oauthClientId,
    'oauth.tokenUrl': endpoint.oauthTokenUrl,
    'oauth.tokenExpirationMinutes': endpoint.oauthTokenExpirationMinutes ?? 60,
    'oauth.scopes': endpoint.oauthScopes,
    'clientCertificate.use': endpoint.clientCertificate !== null,
    'clientCertificate.certificate': endpoint.clientCertificate,
  });
}

/** `before` is the endpoint that is changed, null for a new one. */
export function endpointFields(form: FormState, before: Endpoint | null): Html {
  return html`${address(form, before)}${challenge(form)}${before === null ? credentials(form) : null}${moreFields(
    'Compression',
    form,
    [],
    [
      checkbox(form, {
        name: 'gzip',
        label: 'Compress bodies with gzip',
        hint: 'The receiver unpacks them: Content-Encoding: gzip, or X-Original-Encoding: gzip where bodies are encrypted.',
      }),
    ],
  )}${oauth(form, before)}${clientCertificate(form, before)}`;
}

function address(form: FormState, before: Endpoint | null): Html {
  return fieldGroup('Where', null, [
    textField(form, {
      name: 'name',
      label: 'Name',
      isRequired: true,
      hint: 'What your colleagues will look for, such as the customer.',
    }),
    textField(form, {
      name: 'url',
      label: 'Address',
      type: 'url',
      isRequired: true,
      isCode: true,
      placeholder: 'https://hooks.example.com/in',
      hint: `https: and a public address.${before === null ? '' : ' With another address it has to answer the challenge anew.'}`,
    }),
  ]);
}

function challenge(form: FormState): Html {
  return fieldGroup('Proof', null, [
    radioGroup(form, {
      name: 'tokenChallenge',
      label: 'Before anything is sent',
      choices: [
        {
          value: 'true',
          label: 'The receiver proves that it holds the secret',
          hint: 'Recommended. It is sent a challenge and has to sign it. Until it does, nothing else is sent: a wrong address gets no data.',
        },
        { value: 'false', label: 'Nothing has to be proved', hint: 'The endpoint is enabled at once.' },
      ],
    }),
  ]);
}

function credentials(form: FormState): Html {
  return moreFields(
    'Use a secret or an API key that you agreed on already',
    form,
    ['secret', 'apiKey'],
    [
      textField(form, {
        name: 'secret',
        label: 'Secret',
        type: 'password',
        autocomplete: 'off',
        hint: 'Signs every request. Base64, or any text. Left empty, 32 random bytes are made, which is better.',
      }),
      textField(form, {
        name: 'apiKey',
        label: 'API key',
        isCode: true,
        autocomplete: 'off',
        hint: '32 hexadecimal digits, sent as X-Api-Key. Left empty, one is made.',
      }),
    ],
  );
}

function oauth(form: FormState, before: Endpoint | null): Html {
  const isKept = before?.oauthClientSecret != null;
  const fields = [
    checkbox(form, {
      name: 'oauth.use',
      label: 'Send a bearer token',
      hint: 'For receivers behind a gateway that takes tokens alone. One is asked for with the client credentials grant, and kept until shortly before it expires. Without it requests are signed with the secret.',
    }),
    textField(form, {
      name: 'oauth.tokenUrl',
      label: 'Token URL',
      type: 'url',
      isRequired: true,
      isCode: true,
      placeholder: 'https://login.example.com/token',
    }),
    textField(form, {
      name: 'oauth.clientId',
      label: 'Client id',
      isRequired: true,
      isCode: true,
      autocomplete: 'off',
    }),
    textField(form, {
      name: 'oauth.clientSecret',
      label: 'Client secret',
      type: 'password',
      isRequired: true,
      hint: isKept
        ? 'Left empty, the one that is kept stays. For a token URL at another server it has to be typed again.'
        : 'Kept sealed, and never shown again.',
    }),
    textField(form, {
      name: 'oauth.scopes',
      label: 'Scopes',
      isCode: true,
      hint: 'As the token server wants them, separated by spaces.',
    }),
    numberField(form, {
      name: 'oauth.tokenExpirationMinutes',
      label: 'Minutes that a token is good for',
      min: 1,
      hint: 'Counts where the server does not say when a token expires.',
    }),
  ];
  return settings(form, 'oauth', 'OAuth: a bearer token in place of the signature', fields);
}

function clientCertificate(form: FormState, before: Endpoint | null): Html {
  const isKept = before?.clientPrivateKey != null;
  const fields = [
    checkbox(form, {
      name: 'clientCertificate.use',
      label: 'Show a client certificate',
      hint: `For receivers that ask who connects.${isKept ? ' Without it, the one that is kept is deleted.' : ''}`,
    }),
    textArea(form, {
      name: 'clientCertificate.certificate',
      label: 'Certificate',
      isRequired: true,
      isCode: true,
      rows: 5,
      placeholder: '-----BEGIN CERTIFICATE-----',
      takesFile: '.pem,.crt,.cer',
      hint: 'In PEM, with the chain below it where there is one.',
    }),
    textArea(form, {
      name: 'clientCertificate.privateKey',
      label: 'Private key',
      isRequired: true,
      isCode: true,
      rows: 5,
      placeholder: '-----BEGIN PRIVATE KEY-----',
      takesFile: '.pem,.key',
      hint: isKept
        ? 'Left empty, the one that is kept stays.'
        : 'In PEM, not encrypted. Kept sealed, and never shown again.',
    }),
  ];
  return settings(form, 'clientCertificate', 'Client certificate: for mutual TLS', fields);
}

/** Folded away, unless they are in use or something is wrong with them. */
function settings(form: FormState, name: string, title: string, fields: readonly Html[]): Html {
  const isOpen = form.isChecked(`${name}.use`) || form.problem(name) !== null;
  return html`<details class="more-fields" id="${idOf(name)}"${attributes({ open: isOpen })}><summary>${title}</summary><div class="fields">${fields}</div></details>`;
}
