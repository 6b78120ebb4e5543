/** A hash of a JSON value that does not depend on the order of members, to recognise repeated requests. */
import { hash } from 'node:crypto';
import { isExactText } from './json-text.ts';
import { inOnePiece, type Work } from './slices.ts';

/** SHA-256 of the value's canonical JSON. */
export function contentHash(value: unknown): Uint8Array {
  return inOnePiece(hashing(value));
}

/** The same with pauses, for a large value. */
export function* hashing(value: unknown): Work<Uint8Array> {
  const json = yield* writing(value, { members: 0 });
  return Buffer.from(hash('sha256', json, 'hex'), 'hex');
}

/** The value as JSON with sorted members. Recursive, so the value must not be nested deeper than JSON_DEPTH_MAX. */
export function canonicalJson(value: unknown): string {
  return inOnePiece(writing(value, { members: 0 }));
}

/** Members and items that are written between two pauses. */
const WRITTEN_AT_ONCE = 1000;

/** `written`: how many members and items of the whole value were written. */
function* writing(value: unknown, written: { members: number }): Work<string> {
  if (isLeaf(value)) return leafJson(value);
  const isList = Array.isArray(value);
  const names = isList ? value.keys() : Object.keys(value as object).sort();
  let json = '';
  for (const name of names) {
    const member = (value as Readonly<Record<PropertyKey, unknown>>)[name];
    if (!isList && member === undefined) continue;
    written.members += 1;
    if (written.members % WRITTEN_AT_ONCE === 0) yield;
    const text = isLeaf(member) ? leafJson(member) : yield* writing(member, written);
    json += `${json === '' ? '' : ','}${isList ? '' : `${JSON.stringify(name)}:`}${text}`;
  }
  return isList ? `[${json}]` : `{${json}}`;
}

function isLeaf(value: unknown): boolean {
  return value === null || typeof value !== 'object' || isExactText(value);
}

function leafJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}
