/**
 * Scopes: parsing a request's scope and granting it (RFC 6749 §3.3, contract §2). A token has all the named scopes or is refused.
 * Descriptions use only the characters of `error_description` (RFC 6749 §5.2).
 */

import { z } from 'zod';
import { NAMED_SCOPES_MAX, SCOPE_NAME_LENGTH_MAX, SCOPE_TEXT_LENGTH_MAX } from '../kernel/limits/limits.ts';

/** `<resource>:<action>`, at most 128 characters. No part of it can match in two ways, so testing takes linear time. */
export const SCOPE_NAME: RegExp = new RegExp(`^(?=.{3,${SCOPE_NAME_LENGTH_MAX}}$)[A-Za-z0-9._/-]+:[A-Za-z0-9._/-]+$`);

export type ScopeRefusal = { readonly ok: false; readonly code: 'invalid_scope'; readonly description: string };
/** `names` are sorted and distinct, and empty if `all` registered scopes are requested. */
export type RequestedScopes = { readonly ok: true; readonly names: readonly string[]; readonly all: boolean };
export type GrantedScopes = { readonly ok: true; readonly granted: readonly string[] };

/**
 * Parses the `scope` parameter: names separated by spaces, in any order. Absent, empty, only spaces, or `all` requests every registered
 * scope. Refuses invalid names, `all` together with names, more than 20 distinct names, and text over 8 KiB (without parsing it).
 */
export function parseScope(text: string | undefined): RequestedScopes | ScopeRefusal {
  const written = text ?? '';
  if (written.length > SCOPE_TEXT_LENGTH_MAX) return refuse(`scope is longer than ${SCOPE_TEXT_LENGTH_MAX} characters`);
  const names = new Set<string>();
  let all = false;
  for (const name of written.split(' ')) {
    if (name === '') continue;
    if (name === ALL) all = true;
    else if (!SCOPE_NAME.test(name)) return refuse(`${quote(name)} is not a scope name`);
    else if (names.add(name).size > NAMED_SCOPES_MAX) {
      return refuse(`more than ${NAMED_SCOPES_MAX} scopes are named; the first one over the limit is ${quote(name)}`);
    }
  }
  if (names.size === 0) return { ok: true, names: [], all: true };
  if (all) return refuse(`${quote(ALL)} must not be combined with scope names`);
  return { ok: true, names: [...names].sort(), all: false };
}

/**
 * The sorted scopes of the token: all that were named, or with `all` everything in `registered`. Refuses if nothing is registered, and
 * if a named scope is not registered for the application; the message names the first one in sorted order.
 */
export function grantScope(requested: RequestedScopes, registered: readonly string[]): GrantedScopes | ScopeRefusal {
  if (registered.length === 0) return refuse('no scope is registered for this application');
  if (requested.all) return { ok: true, granted: [...new Set(registered)].sort() };
  const missing = requested.names.find((name) => !registered.includes(name));
  if (missing !== undefined) return refuse(`scope ${quote(missing)} is not registered for this application`);
  return { ok: true, granted: requested.names };
}

const ALL = 'all';
const QUOTED_LENGTH_MAX = 64;

function refuse(description: string): ScopeRefusal {
  return { ok: false, code: 'invalid_scope', description };
}

/** Makes a caller's text safe for descriptions, headers and log lines: truncated, with `?` for quotes and for characters outside §5.2. */
function quote(text: string): string {
  return `'${text.slice(0, QUOTED_LENGTH_MAX).replace(/[^\x20-\x7e]|["'\\]/g, '?')}'`;
}

/** The schema of a scope name: `SCOPE_NAME` without its look-ahead, which RE2 lacks. */
export const scopeName: z.ZodString = z.string().max(SCOPE_NAME_LENGTH_MAX).meta({
  pattern: '^[A-Za-z0-9._/-]+:[A-Za-z0-9._/-]+$',
  minLength: 3,
  maxLength: SCOPE_NAME_LENGTH_MAX,
});
