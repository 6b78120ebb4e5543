/** A hash of a JSON value that does not depend on the order of members, to recognise repeated requests. */
import { hash } from 'node:crypto';
import { isExactText } from './json-text.ts';

/** SHA-256 of the value as JSON with sorted members. Recursive, so the value must not be nested deeper than JSON_DEPTH_MAX. */
export function contentHash(value: unknown): Uint8Array {
  return Buffer.from(hash('sha256', canonicalJson(value), 'hex'), 'hex');
}

function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object' || isExactText(value)) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  const sorted = members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}
