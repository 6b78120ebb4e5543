/** Parameters of the OAuth endpoints, whichever dialect they came in: JSON or form (contract §2). */
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { isObject } from '../kernel/validation.ts';
import type { Call } from './route.ts';

/** What JSON calls each parameter; the first name is the one that messages use. A form has the names of RFC 6749, 7009 and 7662. */
const JSON_NAMES = {
  grant_type: ['grantType', 'grant_type'],
  client_id: ['clientId', 'client_id'],
  client_secret: ['clientSecret', 'client_secret'],
  scope: ['scope', 'scopes'],
  token: ['token'],
} as const satisfies Record<string, readonly string[]>;

export type ParameterName = keyof typeof JSON_NAMES;

export type Parameters = {
  /** The value, or undefined where there is none or an empty one (RFC 6749 §3.2). */
  optional(name: ParameterName): string | undefined;
  required(name: ParameterName): string;
};

/** Both throw 400 `invalid_request`, naming the parameter as the caller would have written it. Others than these are ignored. */
export function parametersOf({ body, mediaType }: Pick<Call, 'body' | 'mediaType'>): Parameters {
  if (!isObject(body)) throw new Refusal('invalid_request', 'the body must be a JSON object');
  const form = isForm(mediaType);
  const namesOf = (name: ParameterName): readonly string[] => (form ? [name] : JSON_NAMES[name]);

  const optional = (name: ParameterName): string | undefined => {
    let value: string | undefined;
    let from = '';
    for (const alias of namesOf(name)) {
      const given = body[alias];
      if (given === undefined || (given === null && name === 'scope')) continue;
      if (typeof given !== 'string') throw refuseField(alias, 'must be a string', 'invalid_request');
      if (value !== undefined && !isSame(name, value, given)) {
        throw refuseField(alias, `differs from ${from}, another name of the same`, 'invalid_request');
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

/** The order and repeats of scopes say nothing (RFC 6749 §3.3). */
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
