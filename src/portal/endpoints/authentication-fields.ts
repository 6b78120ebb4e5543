/** The fields of an endpoint's authentication and of its request headers. */

import type { Authentication, Endpoint } from '../../domain/endpoint.ts';
import { HEADER_VALUE_MAX_BYTES, REQUEST_HEADERS_MAX } from '../../domain/endpoint-headers.ts';
import { type Html, html } from '../../http/html.ts';
import { isObject } from '../../kernel/validation.ts';
import { AUTHENTICATION_MEMBERS } from '../../webhooks/endpoint-authentication.ts';
import {
  type Body,
  type FieldTable,
  type FormField,
  rows,
  secretText,
  select,
  text,
  tick,
} from '../record/field-table.ts';

export function authenticationFields(before: Endpoint | null): FieldTable {
  const isKept = before?.authentication != null;
  const hint = isKept
    ? 'Leave empty to keep the current one. Enter it again for an address at another server.'
    : 'Stored encrypted, never shown again.';
  return {
    sendApiKey: tick(
      { label: 'Do not send the API key', hint: 'Requests then have no header x-api-key.' },
      false,
      true,
    ),
    'authentication.method': select({
      label: 'Method',
      choices: [
        { value: '', label: 'HMAC-SHA256 signature' },
        { value: 'basic', label: 'Basic: user name and password' },
        { value: 'bearer', label: 'Bearer: a fixed token' },
        { value: 'header', label: 'A secret in a header of another name' },
      ],
      hint: 'The signature is in the header Authorization. Basic and Bearer replace it; a secret in another header is sent beside it.',
    }),
    'authentication.userName': text({ label: 'User', isRequired: true, isCode: true, autocomplete: 'off' }),
    'authentication.password': secretText({ label: 'Password', isRequired: true, autocomplete: 'off', hint }),
    'authentication.token': secretText({ label: 'Token', isRequired: true, autocomplete: 'off', hint }),
    'authentication.name': text({
      label: 'Header',
      isRequired: true,
      isCode: true,
      autocomplete: 'off',
      placeholder: 'X-Token',
    }),
    'authentication.value': secretText({ label: 'Value', isRequired: true, autocomplete: 'off', hint }),
    signatureType: select({
      label: 'Standard Webhooks',
      choices: [
        { value: 'hmac', label: 'HMAC with the secret (v1)' },
        { value: 'ed25519', label: 'Ed25519: receivers need a public key only (v1a)' },
      ],
      hint: 'The signature of webhooks that also sign with Standard Webhooks.',
    }),
    requestHeaders: requestHeaders(),
  };
}

/** The fields of one method each; the style shows those of the chosen method. */
export function authenticationGroups(field: (name: string) => Html | null): Html {
  return html`
    <div class="for-basic">${field('authentication.userName')}${field('authentication.password')}</div>
    <div class="for-bearer">${field('authentication.token')}</div>
    <div class="for-header">${field('authentication.name')}${field('authentication.value')}</div>
  `;
}

const SECRET = 'secret';

/** The value of a secret header is never shown again: an empty one keeps it. */
function requestHeaders(): FormField {
  const base = rows({
    label: 'Headers for the receiver',
    hint:
      `At most ${REQUEST_HEADERS_MAX}, sent with every request and not signed. A value has up to ` +
      `${HEADER_VALUE_MAX_BYTES} visible ASCII characters. The value of a secret one is never shown again; leave it empty to keep it.`,
    fields: [
      { name: 'name', label: 'Header', placeholder: 'X-Route' },
      { name: 'value', label: 'Value', placeholder: 'blue' },
      {
        name: 'secret',
        label: 'Shown',
        choices: [
          { value: '', label: 'to everybody here' },
          { value: SECRET, label: 'to nobody: secret' },
        ],
      },
    ],
    max: REQUEST_HEADERS_MAX,
  });
  const read = (sent: URLSearchParams, name: string) =>
    (base.read(sent, name) as { name: string; value: string; secret: string }[]).map((row) => {
      const isSecret = row.secret === SECRET;
      return { name: row.name, value: isSecret && row.value === '' ? null : row.value, secret: isSecret };
    });
  return {
    ...base,
    read,
    fill: (value, name) => {
      const headers = Array.isArray(value) ? value.filter(isObject) : [];
      return base.fill(
        headers.map((one) => ({ ...one, value: one.value ?? '', secret: one.secret === true ? SECRET : '' })),
        name,
      );
    },
    compare: (sent, name) => read(sent, name).map((one) => `${one.name}: ${one.secret ? '(secret)' : one.value}`),
    hide: (shown, name) => {
      const values = shown.getAll(`${name}.value`);
      const secrets = shown.getAll(`${name}.secret`);
      shown.delete(`${name}.value`);
      for (const [at, value] of values.entries()) shown.append(`${name}.value`, secrets[at] === SECRET ? '' : value);
    },
  };
}

/** The authentication of a sent form: null, or the members of the chosen method. */
export function chosenAuthentication(sent: unknown): unknown {
  const members: Body = isObject(sent) ? { ...sent } : {};
  const { method } = members;
  if (!isMethod(method)) return null;
  const { shown, secret } = AUTHENTICATION_MEMBERS[method];
  const names = shown === null ? ['method', secret] : ['method', shown, secret];
  return Object.fromEntries(names.flatMap((name) => (name in members ? [[name, members[name]]] : [])));
}

function isMethod(text: unknown): text is Authentication['method'] {
  return typeof text === 'string' && Object.hasOwn(AUTHENTICATION_MEMBERS, text);
}

/** How a receiver recognizes the sender, for people. `isWhole`: with what is signed. */
export function authenticationText(authentication: Authentication | null, isOauth: boolean, isWhole = false): string {
  if (isOauth) return 'The header Authorization has a bearer token from the OAuth server of the receiver.';
  const signature = isWhole ? `${SIGNATURE} ${SIGNED}` : SIGNATURE;
  if (authentication === null) return signature;
  const { method, name } = authentication;
  if (method === 'basic') return `The header Authorization has Basic authentication, with the user name ${name}.`;
  if (method === 'bearer') return 'The header Authorization has a fixed bearer token.';
  const isAuthorization = name?.toLowerCase() === 'authorization';
  return `The header ${name} has a secret. ${isAuthorization ? 'Requests are not signed.' : signature}`;
}

const SIGNATURE = 'The header Authorization has an HMAC-SHA256 signature.';
const SIGNED = 'It covers the path, the date, the hash of the body and custom headers.';
