/** A hash of a JSON value that does not depend on the order of members, to recognise repeated requests. */
import { hash } from 'node:crypto';
import { isExactText } from './json-text.ts';

/** SHA-256 of the value's canonical JSON. */
export function contentHash(value: unknown): Uint8Array {
  return Buffer.from(hash('sha256', canonicalJson(value), 'hex'), 'hex');
}

/** The value as JSON with sorted members. Recursive, so the value must not be nested deeper than JSON_DEPTH_MAX. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object' || isExactText(value)) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  let members = '';
  for (const name of Object.keys(value).sort()) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (member !== undefined) members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}
