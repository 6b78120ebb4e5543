/** Where a text stops being JSON (RFC 8259), because the parser's own message often leaves out the place. Pure. */
import { createJsonReader, type JsonParts } from './json-reader.ts';
import { Refusal } from './refusal.ts';

/** Returns the problem and its place, such as `unexpected "}" at line 2, column 11`; null for JSON. */
export function jsonProblem(text: string): string | null {
  const at = firstError(text);
  if (at === null) return null;
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const column = at - before.lastIndexOf('\n');
  const sign = String.fromCodePoint(text.codePointAt(at) ?? 0);
  const what = at >= text.length ? 'it ends too early' : `unexpected ${JSON.stringify(sign)}`;
  return `${what} at line ${line}, column ${column}`;
}

const NOTHING = (): void => {};
const NO_PARTS: JsonParts = {
  open: NOTHING,
  close: NOTHING,
  name: NOTHING,
  string: NOTHING,
  scalar: NOTHING,
  space: NOTHING,
};

/** The index of the first character that cannot stand where it stands: the length of the text if it ends too early. */
function firstError(text: string): number | null {
  const bytes = Buffer.from(text);
  const reader = createJsonReader(bytes, NO_PARTS);
  try {
    reader.next(bytes.length);
    return null;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return bytes.toString('utf8', 0, reader.errorAt()).length;
  }
}
