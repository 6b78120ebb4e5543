/** Where a text stops being JSON (RFC 8259), because the parser's own message often leaves out the place. Pure. */

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

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end';

const SPACE = /[ \t\n\r]*/y;
const PLAIN = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** The index of the first character that cannot stand where it stands: the length of the text if it ends too early. */
function firstError(text: string): number | null {
  const open: ('{' | '[')[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    at = endOf(SPACE, text, at) ?? at;
    const sign = text[at];
    if (sign === undefined) return expected === ', or end' && open.length === 0 ? null : at;
    const within = open.at(-1);
    if (expected === ', or end') {
      if (sign === ',' && within !== undefined) expected = within === '{' ? 'key' : 'value';
      else if (sign === closing(within)) open.pop();
      else return at;
      at += 1;
    } else if (expected === ':') {
      if (sign !== ':') return at;
      expected = 'value';
      at += 1;
    } else if (expected === 'key' || expected === 'key or }') {
      if (sign === '"') {
        const end = endOfText(text, at);
        if (!end.isWhole) return end.at;
        at = end.at;
        expected = ':';
      } else if (sign === '}' && expected === 'key or }') {
        open.pop();
        expected = ', or end';
        at += 1;
      } else return at;
    } else if (sign === '{' || sign === '[') {
      open.push(sign);
      expected = sign === '{' ? 'key or }' : 'value or ]';
      at += 1;
    } else if (sign === ']' && expected === 'value or ]') {
      open.pop();
      expected = ', or end';
      at += 1;
    } else {
      const end = sign === '"' ? endOfText(text, at) : { at: endOf(PLAIN, text, at) ?? at, isWhole: true };
      if (!end.isWhole || end.at === at) return end.at;
      at = end.at;
      expected = ', or end';
    }
  }
}

function closing(open: '{' | '[' | undefined): string | undefined {
  return open === '{' ? '}' : open === '[' ? ']' : undefined;
}

function endOf(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

/** The end of the text in quotes that begins at `begin`, or the place where it is wrong. */
function endOfText(text: string, begin: number): { readonly at: number; readonly isWhole: boolean } {
  let at = begin + 1;
  for (;;) {
    const sign = text[at];
    if (sign === '"') return { at: at + 1, isWhole: true };
    if (sign === undefined || sign < ' ') return { at, isWhole: false };
    if (sign === '\\') {
      const escaped = text[at + 1] ?? '';
      if (escaped === 'u' && /^[0-9a-fA-F]{4}/.test(text.slice(at + 2, at + 6))) at += 6;
      else if (escaped !== '' && '"\\/bfnrt'.includes(escaped)) at += 2;
      else return { at: at + 1, isWhole: false };
    } else at += 1;
  }
}
