/** What the forms of endpoints send, as the bodies that the use cases take. Fields have the names of the API, so refusals name them. */
import { definedFields } from '../../kernel/validation.ts';

type Body = Record<string, unknown>;

/** The body of a creation: what was left empty is made or has its default. */
export function endpointBody(form: URLSearchParams): Body {
  return {
    ...addressOf(form),
    ...definedFields({ apiKey: textOf(form, 'apiKey')?.trim(), secret: textOf(form, 'secret') }),
    oauth: isUsed(form, 'oauth', OAUTH_TEXTS) ? oauthOf(form) : null,
    clientCertificate: isUsed(form, 'clientCertificate', CERTIFICATE_TEXTS) ? certificateOf(form) : null,
  };
}

/**
 * The merge patch of a change. Secrets that were left empty stay as they are; `oauth.use` and `clientCertificate.use` say whether
 * there shall be such settings at all.
 */
export function endpointPatchOf(form: URLSearchParams): Body {
  return {
    ...addressOf(form),
    oauth: form.has('oauth.use') ? oauthOf(form) : null,
    clientCertificate: form.has('clientCertificate.use') ? certificateOf(form) : null,
  };
}

/** The body of a rotation; `field` is `secret` or `apiKey`. */
export function rotationBody(form: URLSearchParams, field: 'secret' | 'apiKey'): Body {
  return definedFields({
    [field]: textOf(form, field),
    activateAfterSeconds: numberOf(form, 'activateAfterSeconds'),
    ...(field === 'secret' && { overlapSeconds: numberOf(form, 'overlapSeconds') }),
  });
}

/** What was typed, as the page may show it again. */
export function withoutSecrets(typed: URLSearchParams): URLSearchParams {
  const form = new URLSearchParams(typed);
  for (const name of ['secret', 'oauth.clientSecret', 'clientCertificate.privateKey']) form.delete(name);
  return form;
}

function addressOf(form: URLSearchParams): Body {
  return {
    name: form.get('name') ?? '',
    url: form.get('url')?.trim() ?? '',
    contentEncoding: form.has('gzip') ? 'gzip' : null,
    tokenChallenge: form.get('tokenChallenge') === 'true',
  };
}

/** Who filled the fields in means them, with the box ticked or not. */
function isUsed(form: URLSearchParams, name: string, texts: readonly string[]): boolean {
  return form.has(`${name}.use`) || texts.some((field) => textOf(form, field) !== undefined);
}

const OAUTH_TEXTS = ['oauth.clientId', 'oauth.clientSecret', 'oauth.tokenUrl', 'oauth.scopes'];
const CERTIFICATE_TEXTS = ['clientCertificate.certificate', 'clientCertificate.privateKey'];

function oauthOf(form: URLSearchParams): Body {
  return {
    clientId: form.get('oauth.clientId')?.trim() ?? '',
    tokenUrl: form.get('oauth.tokenUrl')?.trim() ?? '',
    scopes: textOf(form, 'oauth.scopes')?.trim() ?? null,
    ...definedFields({
      clientSecret: textOf(form, 'oauth.clientSecret'),
      tokenExpirationMinutes: numberOf(form, 'oauth.tokenExpirationMinutes'),
    }),
  };
}

function certificateOf(form: URLSearchParams): Body {
  return definedFields({
    certificate: linesOf(form, 'clientCertificate.certificate'),
    privateKey: linesOf(form, 'clientCertificate.privateKey'),
  });
}

/** Several lines as a file has them: browsers send CR LF, and what was not touched has to stay the same. */
export function linesOf(form: URLSearchParams, field: string): string | undefined {
  return textOf(form, field)?.replaceAll('\r\n', '\n');
}

/** What was typed, or undefined for nothing. */
export function textOf(form: URLSearchParams, field: string): string | undefined {
  const text = form.get(field) ?? '';
  return text.trim() === '' ? undefined : text;
}

/** A number where digits were typed; anything else goes on as it is, for the schema to refuse by its field. */
export function numberOf(form: URLSearchParams, field: string): number | string | undefined {
  const text = textOf(form, field)?.trim();
  return text === undefined ? undefined : /^-?\d{1,15}(\.\d{1,10})?$/.test(text) ? Number(text) : text;
}
