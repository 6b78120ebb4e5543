/**
 * The text of the search line, such as `state:dead customer:acct_2 5xx since:1h`: words that each name a field and a value, or only a value
 * whose form tells its field. Quotes keep a value together: `webhook:"Shop Berlin"`. A word of no other form is a part of the subject.
 */
import type { OffsetRange } from '../../domain/batch.ts';
import { ERROR_CLASSES, type ErrorClass } from '../../domain/outcome.ts';
import type { DeliveryState } from '../../domain/webhook.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { nearest } from '../../kernel/nearest.ts';
import type { ResponseFilter } from '../../store/port/deliveries.ts';
import { instantOf } from '../frame/query.ts';

/** `customer` only in the operator's portal. */
export const SEARCH_FIELDS = [
  ...(['state', 'webhook', 'customer', 'type', 'response', 'since', 'until'] as const),
  ...(['id', 'offset', 'key', 'subject'] as const),
];
export type SearchField = (typeof SEARCH_FIELDS)[number];

/** Each field at most once. The value is in its canonical form (`canonicalValue`). */
export type SearchTerm = { readonly field: SearchField; readonly value: string };

/** `word`: as typed. `suggestion`: the whole text with the word that was probably meant. `states`: the words that it could be, if few. */
export type SearchProblem = {
  readonly text: string;
  readonly word: string;
  readonly suggestion: string | null;
  readonly states?: readonly SearchChoice[];
};

/** `text`: the whole text with this value. */
type SearchChoice = { readonly value: string; readonly text: string };

type ParsedSearch = { readonly terms: readonly SearchTerm[]; readonly problems: readonly SearchProblem[] };

export const DELIVERY_STATES: readonly DeliveryState[] = ['pending', 'delivered', 'dead', 'discarded'];

/** Words for groups of error classes. Every class is a word too. */
const GROUPS: Readonly<Record<string, readonly ErrorClass[]>> = {
  connection: ['connect', 'reset', 'proxy'],
  tls: ['tls', 'tls_expired', 'tls_untrusted', 'tls_wrong_host'],
  failed: ERROR_CLASSES,
};
const RESPONSE_WORDS = [...new Set<string>([...Object.keys(GROUPS), ...ERROR_CLASSES])];
export const RESPONSES_SUGGESTED = ['2xx', '3xx', '4xx', '5xx', '429', '503', 'timeout', 'connection', 'tls', 'dns'];

type Word = {
  readonly field: string | null;
  readonly value: string;
  readonly isQuoted: boolean;
  /** As typed. */
  readonly text: string;
};

const WORD = /(?:([A-Za-z][A-Za-z-]*):)?(?:"((?:[^"\\]|\\.)*)(?:"|$)|(\S*))/gsu;

function wordsOf(text: string): Word[] {
  return [...text.matchAll(WORD)].flatMap(([typed, field, quoted, bare = '']) => {
    const value = (quoted === undefined ? bare : quoted.replaceAll(/\\(.)/gsu, '$1')).trim();
    if (field === undefined && value === '') return [];
    return [{ field: field ?? null, value, isQuoted: quoted !== undefined, text: typed }];
  });
}

/**
 * `fields`: the fields that may be named. `hasLog`: a webhook is chosen elsewhere. Bare digits are an offset of a chosen webhook; without
 * one they are a part of the subject, such as an order number.
 */
export function parseSearch(
  text: string,
  {
    fields = SEARCH_FIELDS,
    hasLog = false,
  }: { readonly fields?: readonly SearchField[]; readonly hasLog?: boolean } = {},
): ParsedSearch {
  const words = wordsOf(text);
  const reading = { fields, hasLog: hasLog || words.some(({ field }) => field?.toLowerCase() === 'webhook') };
  const found = new Map<SearchField, string>();
  const problems: SearchProblem[] = [];
  for (const [at, word] of words.entries()) {
    const read = readWord(word, reading);
    if ('problem' in read) {
      const withWord = (text: string): string => words.map((one, index) => (index === at ? text : one.text)).join(' ');
      problems.push({
        text: read.problem,
        word: word.text,
        suggestion: read.meant === null ? null : withWord(read.meant),
        ...(read.isState && { states: DELIVERY_STATES.map((value) => ({ value, text: withWord(`state:${value}`) })) }),
      });
      continue;
    }
    const { field, value } = read;
    const before = found.get(field);
    if (before !== undefined && field !== 'subject') {
      problems.push({ text: `“${field}” is given twice.`, word: word.text, suggestion: null });
    } else found.set(field, before === undefined ? value : `${before} ${value}`);
  }
  return { terms: [...found].map(([field, value]) => ({ field, value })), problems };
}

type Read = SearchTerm | { readonly problem: string; readonly meant: string | null; readonly isState?: boolean };

type Reading = { readonly fields: readonly SearchField[]; readonly hasLog: boolean };

function readWord({ field: named, value, isQuoted, text }: Word, { fields, hasLog }: Reading): Read {
  if (named === null) return isQuoted ? { field: 'subject', value } : bareTerm(value, hasLog);
  const field = fields.find((one) => one === named.toLowerCase());
  if (field === undefined) {
    const near = nearest(named.toLowerCase(), fields);
    if (near !== null) return { problem: `There is no filter “${named}”.`, meant: `${near}:${quotedIfNeeded(value)}` };
    const quoted = quotedText(text);
    return { problem: `There is no filter “${named}”. A subject with a colon needs quotes: ${quoted}.`, meant: quoted };
  }
  if (value === '') return { problem: `“${named}:” needs a value, such as ${EXAMPLES[field]}.`, meant: null };
  const canonical = canonicalValue(field, value);
  if (canonical !== null) return { field, value: canonical };
  const near = nearest(
    value.toLowerCase(),
    field === 'state' ? DELIVERY_STATES : field === 'response' ? RESPONSE_WORDS : [],
  );
  const meant = near === null ? null : `${field}:${near}`;
  return { problem: problemOf(field, value), meant, isState: field === 'state' };
}

const EXAMPLES: Readonly<Record<SearchField, string>> = {
  state: 'state:dead',
  webhook: 'webhook:"Orders"',
  customer: 'customer:acct_2',
  type: 'type:order.created',
  response: 'response:503',
  since: 'since:1h',
  until: 'until:2026-11-21T05:00',
  id: 'id:01a1fdf8-8e37-73c2-a47a-f267f1096a3e',
  offset: 'offset:160-168',
  key: 'key:order-17',
  subject: 'subject:person-7',
};

function problemOf(field: SearchField, value: string): string {
  switch (field) {
    case 'state':
      return `There is no state “${value}”.`;
    case 'response':
      return `There is no response “${value}”. Write a status such as 503 or 5xx, or a cause such as timeout.`;
    case 'since':
    case 'until':
      return `“${value}” is not a time. Write 30m, 1h, 7d, or a time in UTC such as 2026-11-21T05:00.`;
    default:
      return `“${value}” is no ${field}. Write for example ${EXAMPLES[field]}.`;
  }
}

/** The field of a word that names none, by its form. */
function bareTerm(value: string, hasLog: boolean): SearchTerm {
  for (const field of ['id', 'response', 'offset', 'state'] as const) {
    if (field === 'offset' && !hasLog && /^\d+$/.test(value)) continue;
    const canonical = field === 'response' && !isBareResponse(value) ? null : canonicalValue(field, value);
    if (canonical !== null) return { field, value: canonical };
  }
  return { field: 'subject', value };
}

/** `5` and `50` are offsets unless `response:` says otherwise. */
function isBareResponse(value: string): boolean {
  return /^[1-5](?:\d\d|\d?x+)$/i.test(value) || RESPONSE_WORDS.includes(value.toLowerCase());
}

/** The canonical form of a value; null if it is none of the field. */
function canonicalValue(field: SearchField, value: string): string | null {
  const lower = value.toLowerCase();
  switch (field) {
    case 'state':
      return DELIVERY_STATES.find((state) => state === lower) ?? null;
    case 'response': {
      const word = lower.replaceAll(' ', '_');
      return responseOf(word) === null ? null : word;
    }
    case 'since':
    case 'until':
      return momentOf(value, 0) === null ? null : value;
    case 'id': {
      // The message id of Standard Webhooks: msg_ and the id of the batch.
      const id = lower.replace(/^msg_/, '');
      return isUuidV7(id) ? id : null;
    }
    case 'offset': {
      const range = offsetsOf(value);
      return range === null ? null : offsetText(range);
    }
    default:
      return value;
  }
}

/** `#7`, `7`, `#7-12`; null for other texts. */
export function offsetsOf(text: string): OffsetRange | null {
  const [, first, last = first] = /^#?(\d{1,15})(?:\s*[-–]\s*#?(\d{1,15}))?$/.exec(text) ?? [];
  return first === undefined ? null : { first: Number(first), last: Number(last) };
}

function offsetText({ first, last }: OffsetRange): string {
  return first === last ? `#${first}` : `#${first}-${last}`;
}

/** `500`, `4xx`, `50`, `timeout`, `tls`; null for other texts. */
export function responseOf(text: string): ResponseFilter | null {
  const [, digits] = /^([1-5]\d{0,2})x*$/.exec(text) ?? [];
  if (digits !== undefined && text.length <= 3) {
    return { first: Number(digits.padEnd(3, '0')), last: Number(digits.padEnd(3, '9')) };
  }
  if (Object.hasOwn(GROUPS, text)) return { errorClasses: GROUPS[text] ?? [] };
  return (ERROR_CLASSES as readonly string[]).includes(text) ? { errorClasses: [text] } : null;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** `1h` before now, or an instant: in UTC without a zone. Null for other texts. */
export function momentOf(text: string, now: number): number | null {
  const [, count, unit = ''] = /^(\d{1,5})([mhdw])$/i.exec(text) ?? [];
  if (count !== undefined) return now - Number(count) * (UNITS[unit.toLowerCase()] ?? 0);
  return instantOf(text);
}

/** The terms with others, which replace those of the same field. */
export function withTerms(terms: readonly SearchTerm[], others: readonly SearchTerm[]): SearchTerm[] {
  const isReplaced = ({ field }: SearchTerm): boolean => others.some((other) => other.field === field);
  return [...terms.filter((term) => !isReplaced(term)), ...others];
}

/** The text that `parseSearch` reads as these terms. */
export function searchText(terms: readonly SearchTerm[]): string {
  return terms.map(termText).join(' ');
}

/** One term: `state:dead`, `5xx`, `#7-12`, `person-7`. */
export function termText({ field, value }: SearchTerm): string {
  const bare =
    wordsOf(value).length === 1 && !/^[A-Za-z][A-Za-z-]*:|["\\\s]/u.test(value) ? bareTerm(value, true) : null;
  if (bare?.field === field && bare.value === value && field !== 'state') return value;
  return field === 'subject' ? quotedText(value) : `${field}:${quotedIfNeeded(value)}`;
}

/** The text that searches for a value as it is: quoted if its words or its form would mean another field. */
export function valueText(value: string): string {
  const { terms, problems } = parseSearch(value);
  const [first] = terms;
  const isPlain = problems.length === 0 && first?.field === 'subject' && first.value === value;
  return isPlain ? value : quotedText(value);
}

function quotedIfNeeded(value: string): string {
  return value === '' || /["\\\s]/u.test(value) ? quotedText(value) : value;
}

function quotedText(value: string): string {
  return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
