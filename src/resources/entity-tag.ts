/** Entity tags (RFC 9110 §8.8.3): they let a client change a resource only if it is still as the client read it. */

import { hash } from 'node:crypto';
import type { IfMatch } from '../domain/acting.ts';
import { canonicalJson } from '../kernel/content-hash.ts';
import { Refusal } from '../kernel/refusal.ts';
import { isObject } from '../kernel/validation.ts';

/**
 * The strong tag of a resource as `GET` returns it, without `lastUsedAt`: a client's own requests move that, and would make its changes
 * fail.
 */
export function entityTag(representation: unknown): string {
  const tagged = isObject(representation) ? { ...representation, lastUsedAt: undefined } : representation;
  return contentTag(canonicalJson(tagged));
}

/** The strong tag of exactly this content. */
export function contentTag(content: string | Uint8Array): string {
  const text = hash('sha256', content, 'base64url').slice(0, 22);
  // A shell removes the quotes, and a value that begins with a dash would be an option: `--if-match -x`.
  return `"${text.replace(/^-/, '_')}"`;
}

/** Returns the strong tag of a record by its id and its version. */
type VersionTag = (id: string, version: number) => string;

/**
 * Tags of records that get a larger version with every change, such as `updatedAt`, and whose representation shows nothing that changes
 * without it. That takes a tenth of the time of `entityTag`. `fields` are those of the representation, so that a release that shows others
 * gives other tags.
 */
export function versionTags(fields: object): VersionTag {
  const shape = hash('sha256', Object.keys(fields).join(), 'hex').slice(0, 4);
  // The end of a UUID is random.
  return (id, version) => `"${version}.${id.slice(-12)}.${shape}"`;
}

/** Throws 412 with the current tag if the caller expects another one (RFC 9110 §13.1.1). */
export function refuseChanged(expected: IfMatch | undefined, representation: unknown, title: string): void {
  if (expected === undefined || expected === '*') return;
  refuseOtherTag(expected, entityTag(representation), title);
}

/** The same for a resource with this tag. */
export function refuseOtherTag(expected: IfMatch | undefined, ETag: string, title: string): void {
  if (expected === undefined || expected === '*' || expected.includes(ETag)) return;
  throw new Refusal('precondition_failed', `the ${title} has changed since: read it again`, { headers: { ETag } });
}

// RFC 9110 §8.8.3 and §5.6.1.1: empty elements of a list are ignored.
const TAG = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"';
const TAGS = new RegExp(`^[ \\t,]*${TAG}(?:[ \\t]*,[ \\t,]*${TAG})*[ \\t,]*$`);

/** The tags of a list, weak ones with their `W/`; null if it is malformed. */
export function parseEntityTags(text: string): readonly string[] | null {
  return TAGS.test(text) ? (text.match(new RegExp(TAG, 'g')) ?? []) : null;
}
