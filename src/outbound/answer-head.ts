/**
 * Reads the head of a response as other clients do. Clients accept more than RFC 9112 allows, and a receiver whose response they accept has
 * taken the delivery. So what violates it is read in the usual way, and reported.
 */

/** A head of a response. */
export type ReadHead = {
  readonly status: number;
  /** Names in lower case, repeated ones joined by ", ". At most one of them gives the length of the body. */
  readonly headers: Readonly<Record<string, string>>;
  /** How the head violates RFC 9112, as clauses; each once. */
  readonly problems: readonly string[];
  /** Whether the connection may be used again afterwards (RFC 9112 §9.3). */
  readonly isPersistent: boolean;
};

/** Version and status. The rest of the line is the reason phrase. */
const STATUS_LINE = /^HTTP\/(\d\.\d)[ \t]+(\d{3})(?=[ \t\r]|$)/;

/** The status in the first line of a response, without its line feed, or null if it is not a status line. */
export function statusOfLine(line: string): number | null {
  const status = STATUS_LINE.exec(line)?.[2];
  return status === undefined ? null : Number(status);
}

/** RFC 9112 §4 and §5, the characters of RFC 9110 §5.5. */
const WELL_FORMED =
  /^HTTP\/1\.[01] \d{3}(?: [\t\x20-\x7e\x80-\xff]*)?\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n$/;
const FRAMING = /^(?:content-length|transfer-encoding):.*/gim;
const PLAIN_FRAMING = /^(?:content-length:[ \t]*\d{1,15}|transfer-encoding:[ \t]*chunked)[ \t]*$/i;

/** Whether a whole head is as RFC 9112 wants it. Most are. */
function isWellFormed(text: string): boolean {
  if (!WELL_FORMED.test(text)) return false;
  const framing = text.match(FRAMING);
  return framing === null || (framing.length === 1 && PLAIN_FRAMING.test(framing[0]));
}

/**
 * Reads a head that begins with a status line. It may end early: then its last line is ignored unless it is complete.
 *
 * - Lines may end without a carriage return.
 * - A folded header is joined with a space (RFC 9112 §5.2).
 * - A blank before the colon is removed (§5.1). A line without a colon or with another name that is no token is skipped.
 * - Control characters in a value become spaces (RFC 9110 §5.5).
 * - `Transfer-Encoding` replaces `Content-Length` (RFC 9112 §6.3). Equal lengths are one; with different or invalid ones the body ends with
 *   the connection. So the connection must not be used again after a head with problems.
 */
export function readHead(text: string): ReadHead {
  const [, version = '', status = ''] = STATUS_LINE.exec(text.slice(0, text.indexOf('\n'))) ?? [];
  const problems = new Set<string>();
  const fields = isWellFormed(text) ? plainFields(text) : irregularFields(text, problems);
  const headers = joined(fields);
  const options = (headers.connection ?? '').toLowerCase();
  // HTTP/1.0 has no transfer codings: a gateway in between may see another end (RFC 9112 §6.1).
  const isPersistent =
    version === '1.0'
      ? KEEP_ALIVE.test(options) && headers['transfer-encoding'] === undefined
      : options === '' || !CLOSE.test(options);
  return { status: Number(status), headers, problems: problems.size === 0 ? NONE : [...problems], isPersistent };
}

const KEEP_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/;
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/;
const NONE: readonly string[] = [];

/** The fields of a well-formed head. */
function plainFields(text: string): Field[] {
  const fields: Field[] = [];
  for (let at = text.indexOf('\n') + 1; text[at] !== '\r'; ) {
    const colon = text.indexOf(':', at);
    const end = text.indexOf('\r', colon);
    fields.push([text.slice(at, colon), withoutBlanks(text.slice(colon + 1, end))]);
    at = end + 2;
  }
  return fields;
}

function irregularFields(text: string, problems: Set<string>): readonly Field[] {
  const [first = '', ...lines] = text.slice(0, text.lastIndexOf('\n')).split('\n');
  if (!/\r$/.test(first) || lines.some((line) => !line.endsWith('\r'))) problems.add('a line ends without CR');
  if (!/^HTTP\/1\.[01] \d{3}(?: [\t\x20-\x7e\x80-\xff]*)?\r?$/.test(first))
    problems.add('its status line is irregular');
  return framed(fieldsOf(lines, problems), problems);
}

type Field = readonly [name: string, value: string];

function fieldsOf(lines: readonly string[], problems: Set<string>): Field[] {
  const fields: (readonly [name: string | null, value: string])[] = [];
  for (const line of lines) {
    const plain = line.replace(/\r$/, '');
    if (plain === '') continue;
    if (/^[ \t]/.test(plain)) {
      problems.add('a header is folded over several lines');
      const [name, value] = fields.pop() ?? [null, ''];
      const more = fieldValue(plain, problems);
      fields.push([name, value === '' || more === '' ? value + more : `${value} ${more}`]);
      continue;
    }
    fields.push(fieldOf(plain, problems));
  }
  return fields.flatMap(([name, value]) => (name === null ? [] : [[name, value] as const]));
}

/** The name is null if the line has none. A folded line may follow it all the same. */
function fieldOf(line: string, problems: Set<string>): readonly [name: string | null, value: string] {
  const colon = line.indexOf(':');
  if (colon < 0) {
    problems.add('a header line has no colon');
    return [null, ''];
  }
  const sent = line.slice(0, colon);
  const name = withoutBlanks(sent);
  if (name !== sent) problems.add('a blank stands before the colon of a header');
  const isName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
  if (!isName) problems.add('a header has an invalid name');
  return [isName ? name : null, fieldValue(line.slice(colon + 1), problems)];
}

function fieldValue(text: string, problems: Set<string>): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for them
  const value = text.replace(/[\x00-\x08\x0a-\x1f\x7f]/g, ' ');
  if (value !== text) problems.add('a header has a control character');
  return withoutBlanks(value);
}

/** `trim` would also remove the byte 0xA0, and a regular expression takes quadratic time for a long run of blanks. */
function withoutBlanks(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text[from])) from += 1;
  while (from < to && isBlank(text[to - 1])) to -= 1;
  return text.slice(from, to);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

/** The fields with at most one that gives the length of the body. */
function framed(fields: readonly Field[], problems: Set<string>): readonly Field[] {
  const lengths = valuesOf(fields, 'content-length');
  const sent = valuesOf(fields, 'transfer-encoding').map((coding) => coding.toLowerCase());
  const codings = sent.filter((coding) => coding !== 'identity' && coding !== '');
  const isChunked = codings.at(-1) === 'chunked';
  if (sent.length > 0 && lengths.length > 0) problems.add('it has both Transfer-Encoding and Content-Length');
  if (codings.filter((coding) => coding === 'chunked').length > 1) problems.add('Transfer-Encoding is repeated');
  if (codings.length < sent.length) problems.add('Transfer-Encoding names no coding');
  if (lengths.length > 1) problems.add('Content-Length is repeated');
  const [length = ''] = lengths;
  const isLength = /^\d{1,15}$/.test(length) && new Set(lengths).size === 1;
  if (lengths.length > 0 && !isLength) problems.add('Content-Length is not one number');
  const framing: Field[] =
    codings.length > 0
      ? [['transfer-encoding', isChunked ? 'chunked' : codings.join(', ')]]
      : isLength
        ? [['content-length', length]]
        : [];
  return [...fields.filter(([name]) => !/^(?:content-length|transfer-encoding)$/i.test(name)), ...framing];
}

/** The values of a header that may be a list, or repeated. */
function valuesOf(fields: readonly Field[], wanted: string): string[] {
  return fields
    .filter(([name]) => name.toLowerCase() === wanted)
    .flatMap(([, value]) => value.split(',').map((one) => one.trim()));
}

function joined(fields: readonly Field[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, sent] of fields) {
    const key = name.toLowerCase();
    const value = Object.hasOwn(headers, key) ? `${headers[key]}, ${sent}` : sent;
    // An assignment would set the prototype.
    if (key === '__proto__') Object.defineProperty(headers, key, { value, enumerable: true, configurable: true });
    else headers[key] = value;
  }
  return headers;
}
