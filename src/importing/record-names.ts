/** The names of the records that an import makes. The names of an endpoint and its webhook hold the id at the other sender. Pure. */

const NAME_MAX_LENGTH = 200;

/** An id of the other sender that can be in parentheses at the end of a name. */
const SOURCE_ID = /^[\x21-\x27\x2a-\x7e]{1,100}$/;

/** The end of the names of an endpoint and its webhook that were made of the one with this id. */
export function nameEnd(sourceId: string): string {
  return ` (${sourceId})`;
}

/** Returns the problem of an endpoint's id, or null. */
export function sourceIdProblem(id: string | null): string | null {
  if (id === null) return 'has no id';
  return SOURCE_ID.test(id) ? null : 'has an id that is longer than 100 characters, or has spaces or parentheses';
}

/** The name of an endpoint and its webhook: a label for people, and the id by which another run finds them. */
export function endpointName(label: string, sourceId: string): string {
  const end = nameEnd(sourceId);
  return `${cleanName(label, 'endpoint', NAME_MAX_LENGTH - end.length)}${end}`;
}

/** A text as a name: without control characters and without blanks at its ends, at most `max` characters. */
export function cleanName(text: string, otherwise: string, max: number = NAME_MAX_LENGTH): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\p{Z}\s]+/gu, ' ').trim();
  const cut = [...plain].slice(0, max).join('').trim();
  return cut === '' ? otherwise : cut;
}

/** The host of a URL, for a name; empty for another text, which may hold a password. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? '';
}

/** A text of the export in a message, without control characters and not too long. */
export function shown(text: string): string {
  return cleanName(text, '""', 80);
}
