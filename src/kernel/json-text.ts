/**
 * JSON as text (RFC 8259), because `JSON.parse` loses digits of numbers and repeated names. Each function reads a text once and without
 * recursion, so that its time is linear whatever the text holds. None of them checks the syntax: parse the text as well.
 */

import { BACKSLASH, CLOSE_LIST, CLOSE_OBJECT, COLON, COMMA, OPEN_LIST, OPEN_OBJECT, QUOTE } from './json-reader.ts';

/** The place of the quote that ends the string that begins there. If none does, the last place of the text. */
function lastOfString(text: string, begin: number): number {
  for (let at = text.indexOf('"', begin + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    // Each backslash escapes the character after it.
    const isEscaped = (at - before) % 2 === 0;
    if (!isEscaped) return at;
  }
  return text.length - 1;
}

/** The value of the string between the quotes at these places, with its escapes resolved. */
function stringValue(text: string, first: number, last: number): string {
  const raw = text.slice(first + 1, last);
  if (!raw.includes('\\')) return raw;
  try {
    return String(JSON.parse(text.slice(first, last + 1)));
  } catch {
    return raw;
  }
}

/** The place of the next character that is not white space. */
function skipSpaces(text: string, begin: number): number {
  let at = begin;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

/** The path of the first name that an object of the text repeats, or null. `text` is JSON. */
export function repeatedName(text: string): readonly PropertyKey[] | null {
  type Open = { readonly names: Set<string> | null; step: PropertyKey };
  const open: Open[] = [];
  let [first, last] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    const within = open.at(-1);
    if (sign === QUOTE) {
      first = at;
      last = lastOfString(text, at);
      at = last;
    } else if (sign === OPEN_OBJECT) open.push({ names: new Set(), step: '' });
    else if (sign === OPEN_LIST) open.push({ names: null, step: 0 });
    else if (sign === CLOSE_OBJECT || sign === CLOSE_LIST) open.pop();
    else if (sign === COMMA && within?.names === null) within.step = Number(within.step) + 1;
    else if (sign === COLON && within?.names != null) {
      const name = stringValue(text, first, last);
      within.step = name;
      if (within.names.has(name)) return open.map(({ step }) => step);
      within.names.add(name);
    }
  }
  return null;
}

/** JSON for people, as `JSON.stringify` indents it by two spaces, with the numbers and strings as they are. */
export function indentedJson(json: string): string {
  const pieces: string[] = [];
  let depth = 0;
  const newLine = (): string => `\n${'  '.repeat(depth)}`;
  for (let at = skipSpaces(json, 0); at < json.length; at = skipSpaces(json, at + 1)) {
    const sign = json.charCodeAt(at);
    if (sign === QUOTE) {
      const last = lastOfString(json, at);
      pieces.push(json.slice(at, last + 1));
      at = last;
    } else if (sign === OPEN_OBJECT || sign === OPEN_LIST) {
      const next = skipSpaces(json, at + 1);
      const isEmpty = json.charCodeAt(next) === sign + 2;
      depth += isEmpty ? 0 : 1;
      pieces.push(isEmpty ? `${json[at]}${json[next]}` : `${json[at]}${newLine()}`);
      if (isEmpty) at = next;
    } else if (sign === CLOSE_OBJECT || sign === CLOSE_LIST) {
      depth -= 1;
      pieces.push(newLine(), String(json[at]));
    } else if (sign === COMMA) pieces.push(`,${newLine()}`);
    else if (sign === COLON) pieces.push(': ');
    else pieces.push(String(json[at]));
  }
  return pieces.join('');
}

/** A parsed value in which a number that parsing would change is kept as its text, for `JSON.stringify`. */
export function parseExactly(json: string): unknown {
  return JSON.parse(json, (_name, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    return typeof value !== 'number' || source === undefined ? value : exactNumber(source);
  });
}

/** The number, or its text for `JSON.stringify` if parsing changes it. */
export function exactNumber(text: string): unknown {
  const value = Number(text);
  return String(value) === text ? value : RAW.rawJSON(text);
}

/** JSON.rawJSON of ECMAScript's "JSON.parse source text access", which TypeScript does not declare. */
const RAW = JSON as unknown as { rawJSON(text: string): unknown; isRawJSON(value: unknown): boolean };

/** Whether it is a number that `parseExactly` kept as its text. */
export function isExactText(value: unknown): boolean {
  return RAW.isRawJSON(value);
}
