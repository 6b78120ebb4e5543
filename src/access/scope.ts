/**
 * Scopes: what a token request asks for, and whether it gets it (RFC 6749 §3.3, contract §2). All or nothing: a token never
 * has fewer scopes than were named. Descriptions keep to the characters of `error_description` (RFC 6749 §5.2).
 */

import { z } from 'zod';
import { NAMED_SCOPES_MAX, SCOPE_NAME_LENGTH_MAX, SCOPE_TEXT_LENGTH_MAX } from '../kernel/limits/limits.ts';

/** `<resource>:<action>`, at most 128 characters. No part of it can match in two ways, so testing takes linear time. */
export const SCOPE_NAME: RegExp = new RegExp(`^(?=.{3,${SCOPE_NAME_LENGTH_MAX}}$)[A-Za-z0-9._/-]+:[A-Za-z0-9._/-]+$`);

export type ScopeRefusal = { readonly ok: false; readonly code: 'invalid_scope'; readonly description: string };
/** `names` are sorted and distinct, and empty when `all` registered scopes are asked for. */
export type RequestedScopes = { readonly ok: true; readonly names: readonly string[]; readonly all: boolean };
export type GrantedScopes = { readonly ok: true; readonly granted: readonly string[] };

/**
 * Reads the `scope` parameter: names separated by spaces, in any order. Absent, empty, only spaces, or `all` asks for every
 * scope that is registered. Refused: what is no scope name, `all` beside names, more than 20 distinct names, text over
 * 8 KiB (unread).
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
      return refuse(`more than ${NAMED_SCOPES_MAX} scopes are named; the first too many is ${quote(name)}`);
    }
  }
  if (names.size === 0) return { ok: true, names: [], all: true };
  if (all) return refuse(`${quote(ALL)} stands beside scopes by name`);
  return { ok: true, names: [...names].sort(), all: false };
}

/**
 * The scopes of the token, sorted: every one that was named, or with `all` every one in `registered`. Refused where nothing is
 * registered, and, naming the first in sorted order, where a named one is not registered for the application.
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

/** A caller's text, safe in a description, a header and a log line: cut, and `?` for what §5.2 does not allow or for a quote. */
function quote(text: string): string {
  return `'${text.slice(0, QUOTED_LENGTH_MAX).replace(/[^\x20-\x7e]|["'\\]/g, '?')}'`;
}

/** The schema of a scope name: `SCOPE_NAME` without its look-ahead, which RE2 lacks. */
export const scopeName: z.ZodString = z.string().max(SCOPE_NAME_LENGTH_MAX).meta({
  pattern: '^[A-Za-z0-9._/-]+:[A-Za-z0-9._/-]+$',
  minLength: 3,
  maxLength: SCOPE_NAME_LENGTH_MAX,
});
