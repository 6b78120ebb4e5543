/** The parameters of the OAuth endpoints, in JSON or in a form. */
import { Refusal, refuseField } from '../../kernel/refusal.ts';
import { textProblem } from '../../kernel/validation.ts';
import type { Call } from '../route.ts';

/** The JSON names of each parameter; error messages use the first. Forms use the names of RFC 6749, 7009 and 7662. */
const JSON_NAMES = {
  grant_type: ['grantType', 'grant_type'],
  client_id: ['clientId', 'client_id'],
  client_secret: ['clientSecret', 'client_secret'],
  scope: ['scope', 'scopes'],
  token: ['token'],
} as const satisfies Record<string, readonly string[]>;

type ParameterName = keyof typeof JSON_NAMES;

export type OAuthParameters = {
  /** The value, or undefined if it is missing or empty (RFC 6749 §3.2). */
  optional(name: ParameterName): string | undefined;
  required(name: ParameterName): string;
};

/** Both functions throw 400 `invalid_request` with the name that the caller used. Unknown parameters are ignored. */
export function parametersOf({ body, mediaType }: Pick<Call, 'body' | 'mediaType'>): OAuthParameters {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Refusal('invalid_request', 'the body must be a JSON object');
  const members = body as Readonly<Record<string, unknown>>;
  const form = isForm(mediaType);
  const namesOf = (name: ParameterName): readonly string[] => (form ? [name] : JSON_NAMES[name]);

  const optional = (name: ParameterName): string | undefined => {
    if (name === 'scope') refuseMisnamedScope(members, namesOf(name));
    let value: string | undefined;
    let from = '';
    for (const alias of namesOf(name)) {
      const given = members[alias];
      if (given === undefined || (given === null && name === 'scope')) continue;
      if (typeof given !== 'string') throw refuseField(alias, 'must be a string', 'invalid_request');
      const problem = textProblem(given);
      if (problem !== null) throw refuseField(alias, problem, 'invalid_request');
      if (value !== undefined && !isSame(name, value, given)) {
        throw refuseField(alias, `differs from ${from}, another name of the same parameter`, 'invalid_request');
      }
      value = given;
      from = alias;
    }
    return value === '' ? undefined : value;
  };
  return {
    optional,
    required: (name) => {
      const value = optional(name);
      if (value === undefined) throw refuseField(namesOf(name)[0] as string, 'is required', 'invalid_request');
      return value;
    },
  };
}

/**
 * Without `scope` a token carries every registered scope. So a member that is meant as `scope`, such as `scope[]` or `scopes` in a form, is
 * refused instead of ignored.
 */
function refuseMisnamedScope(members: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  for (const member of Object.keys(members)) {
    if (!names.includes(member) && /^scopes?(\[\w*\])*$/i.test(member))
      throw refuseField(member, 'is not a parameter: name the scopes in scope, separated by spaces', 'invalid_request');
  }
}

/** Scopes are equal in any order and with repeats (RFC 6749 §3.3). */
function isSame(name: ParameterName, one: string, other: string): boolean {
  if (one === other || name !== 'scope') return one === other;
  return scopeSet(one) === scopeSet(other);
}

function scopeSet(text: string): string {
  return [...new Set(text.split(' '))]
    .filter((scope) => scope !== '')
    .sort()
    .join(' ');
}

/** Whether a media type, or a `Content-Type` header with parameters, is that of a form. */
export function isForm(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === 'application/json') return false;
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded';
}
