/** Schemas that several resources share. A schema validates requests and documents them (OpenAPI). */
import { z } from 'zod';
import { UUID_V7 } from './ids.ts';

// OpenAPI publishes the patterns, so other engines must understand them too: RE2 has no look-around and no \u escapes, and its \s matches
// only ASCII spaces. So the patterns contain the spaces themselves, some of which are invisible.

/** Control characters, in a character class. */
const CONTROLS = '\\x00-\\x1f\\x7f-\\x9f';
/** Also all spaces of Unicode, and invisible characters. */
const BLANKS = '\\x00-\\x20\\x7f-\\xa0\u1680\u2000-\u200f\u2027-\u202f\u205f\u3000\ufeff';

/** Text with a length in characters as in JSON Schema: a surrogate pair counts as one. */
export function textSchema(min: number, max: number): z.ZodString {
  return z
    .string()
    .check((context) => {
      const { value: input } = context;
      // A character has one or two code units, so most texts need no counting.
      const isClear = (input.length > min * 2 && input.length <= max) || input.length > max * 2;
      const length = isClear ? input.length : [...input].length;
      const shared = { origin: 'string', inclusive: true, input } as const;
      if (length < min) context.issues.push({ ...shared, code: 'too_small', minimum: min });
      else if (length > max) context.issues.push({ ...shared, code: 'too_big', maximum: max });
    })
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max });
}

/** A display name: no control characters, no spaces at either end. */
export const displayName: z.ZodType<string, string> = textSchema(1, 200)
  .regex(
    new RegExp(`^(?:[^${BLANKS}]|[^${BLANKS}][^${CONTROLS}]*[^${BLANKS}])$`, 'u'),
    'must not begin or end with a space, or hold control characters',
  )
  .meta({ minLength: 1, maxLength: 200 });

const CONTROL = new RegExp(`[${CONTROLS}]`, 'u');
const VISIBLE = new RegExp(`[^${BLANKS}]`, 'u');

/** Text that is not blank and has no control characters. The pattern is for OpenAPI only, because matching it needs quadratic time. */
export function plainText(max: number): z.ZodType<string, string> {
  return z
    .string()
    .refine(
      (text) => isWithin(text, max) && !CONTROL.test(text) && VISIBLE.test(text),
      `must be 1 to ${max} characters, not blank, without control characters`,
    )
    .meta({ pattern: `^[^${CONTROLS}]*[^${BLANKS}][^${CONTROLS}]*$`, minLength: 1, maxLength: max });
}

/** Whether a text has up to `max` characters. Counts only a text that could have so few. */
function isWithin(text: string, max: number): boolean {
  return text.length <= max || (text.length <= max * 2 && [...text].length <= max);
}

/** Text without control characters, possibly blank. */
export function withoutControls(max: number): z.ZodType<string, string> {
  return z
    .string()
    .regex(
      new RegExp(`^[^${CONTROLS}]{1,${max}}$`, 'u'),
      `must be 1 to ${max} characters, none of them a control character`,
    );
}

const BLANK_END = new RegExp(`^[${BLANKS}]|[${BLANKS}]$`, 'u');
const BLANK_NAMES: Readonly<Record<string, string>> = {
  ' ': 'a space',
  '\t': 'a tab',
  '\n': 'a line feed',
  '\r': 'a carriage return',
  '\xa0': 'a no-break space',
  '\ufeff': 'a byte order mark',
};

/**
 * The problem of a secret that begins or ends with white space or an invisible character, with its name, or null. Nobody sees it, and
 * programs that read the secret from a file or a form may or may not remove it.
 */
export function blankEndProblem(text: string): string | null {
  const match = BLANK_END.exec(text);
  if (match === null) return null;
  const [blank] = match;
  const code = (blank.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `must not ${match.index === 0 ? 'begin' : 'end'} with ${BLANK_NAMES[blank] ?? `U+${code}`}`;
}

/** Refuses what `blankEndProblem` finds. */
export function withoutBlankEnds<Schema extends z.ZodType<string, string>>(schema: Schema): Schema {
  return schema.check((context) => {
    const message = blankEndProblem(context.value);
    if (message !== null) context.issues.push({ code: 'custom', input: context.value, message });
  });
}

/** For OpenAPI: a text without such ends, of any characters between them, or without control characters. */
const ANY = '[\\x00-\\x7f]|[^\\x00-\\x7f]';
export const NO_BLANK_ENDS: string = `^[^${BLANKS}](?:(?:${ANY})*[^${BLANKS}])?$`;
export const NO_BLANK_ENDS_OR_CONTROLS: string = `^[^${BLANKS}](?:[^${CONTROLS}]*[^${BLANKS}])?$`;

/** A port from 1 to 65535. */
const PORT = '[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]';
/** Spaces and control characters up to U+00A0, in a character class. */
const UNSEEN = '\\x00-\\x20\\x7f-\\xa0';

/**
 * For OpenAPI: an absolute URL without credentials. It allows hosts that only a parser can refuse, and invisible characters beyond U+00A0.
 * `scheme` and `more`, the characters that may not follow the host, are parts of a pattern.
 */
export function urlPattern(scheme: string, more: string): string {
  const host = `[^${UNSEEN}#%/:<>?@\\[\\\\\\]^|]+`;
  return `^${scheme}://(?:\\[[0-9A-Fa-f:.]+\\]|${host})(?::(?:${PORT}))?(?:[/?][^${UNSEEN}${more}]*)?$`;
}

/** Text without spaces and invisible characters. */
export function word(max: number): z.ZodType<string, string> {
  return z
    .string()
    .regex(
      new RegExp(`^[^${BLANKS}]{1,${max}}$`, 'u'),
      `must be 1 to ${max} characters without spaces or invisible ones`,
    );
}

/** Characters that may not occur in the local part of an address, and in a label of a host name. */
const NO_ATOM = `${BLANKS}"(),.:;<>@\\[\\\\\\]`;
const NO_LABEL = `${BLANKS}!-,./:-@\\[-\`{-~`;
const LABEL = `[^${NO_LABEL}-](?:[^${NO_LABEL}]*[^${NO_LABEL}-])?`;

/** A mailbox (RFC 5321 §4.1.2, with the letters of RFC 6531): a dot-atom and a host name, without quoted strings and IP addresses. */
export const emailAddress: z.ZodType<string, string> = textSchema(3, 254)
  .regex(new RegExp(`^[^${NO_ATOM}]+(?:\\.[^${NO_ATOM}]+)*@${LABEL}(?:\\.${LABEL})+$`, 'u'), 'must be an email address')
  .meta({ minLength: 3, maxLength: 254 });

export const id: z.ZodType<string, string> = z.string().meta({ format: 'uuid', description: 'UUIDv7' });

/** An id in a request. Any text is looked up; the pattern documents valid ids for clients. */
export const idInput: z.ZodString = z
  .string()
  .max(64)
  // Beside the problems of other fields: what an id names is looked up only in an input without problems.
  .refine((id) => id !== '', 'is required')
  .meta({ description: 'UUIDv7', pattern: UUID_V7.source, maxLength: 36 });

/** The name of an event type, `<category>.<name>`. */
export const EVENT_TYPE_NAME: RegExp = /^[a-z][a-z0-9_-]{0,63}\.[a-z][a-z0-9_-]{0,63}$/;

export const instant: z.ZodType<string, string> = z
  .string()
  .meta({ format: 'date-time', description: 'ISO 8601 UTC with milliseconds', examples: ['2026-11-21T05:00:00.000Z'] });

/** An instant in a reply (contract §1.2). Faster than `Date.toISOString`. */
export function isoInstant(at: number): string;
export function isoInstant(at: number | null): string | null;
export function isoInstant(at: number | null): string | null {
  if (at === null) return null;
  const day = Math.floor(at / DAY_MS);
  if (day !== lastDay.number)
    lastDay = { number: day, text: new Date(at).toISOString().slice(0, 'YYYY-MM-DDT'.length) };
  const ms = at - day * DAY_MS;
  const seconds = Math.floor(ms / 1000);
  const time = `${TWO[Math.floor(seconds / 3600)]}:${TWO[Math.floor(seconds / 60) % 60]}:${TWO[seconds % 60]}`;
  return `${lastDay.text}${time}.${TWO[Math.floor((ms % 1000) / 10)]}${ms % 10}Z`;
}

const DAY_MS = 86_400_000;
/** Most instants are of the same day as the one before, and formatting the day takes half of the time. */
let lastDay = { number: Number.NaN, text: '' };
const TWO: readonly string[] = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'));

/** The error for an invalid `moment`. */
export const NOT_A_MOMENT = 'must be an instant, as 2026-11-21T05:00:00.000Z';

/** In requests that create a resource of a customer (contract §8.2). */
export const customerIdInput: z.ZodDefault<z.ZodNullable<z.ZodString>> = z
  .string()
  .max(100)
  .nullable()
  .default(null)
  .meta({
    description: 'The customer that it belongs to; null: the operator. Fixed at creation.',
  });
export const customerIdView: z.ZodNullable<z.ZodString> = z
  .string()
  .nullable()
  .meta({ description: 'The customer that it belongs to; null: the operator.' });

/** An instant in a request. It needs a time zone, because without one it would differ between machines. */
export const moment: z.ZodType<string, string> = z.iso.datetime({ offset: true, error: NOT_A_MOMENT });

/** Parses a moment that a person wrote, possibly without seconds. Null if it is invalid. */
export function parseMoment(text: string): number | null {
  const whole = text.replace(/(T\d\d:\d\d)(?!:)/, '$1:00');
  return moment.safeParse(whole).success ? Date.parse(whole) : null;
}

/** A list without duplicates. */
export function distinct<Item extends string>(item: z.ZodType<Item, Item>, max: number): z.ZodType<Item[], Item[]> {
  return z
    .array(item)
    .max(max)
    .superRefine((items, context) => {
      for (const [at, value] of items.entries()) {
        if (items.indexOf(value) < at)
          context.addIssue({ code: 'custom', path: [at], message: 'repeats an earlier item' });
      }
    })
    .meta({ uniqueItems: true });
}

/** `GET` of a list (contract §1.10). */
export function page<Item>(item: z.ZodType<Item>): z.ZodType<{ items: Item[]; nextCursor: string | null }> {
  const nextCursor = z
    .string()
    .nullable()
    .meta({ description: 'The `cursor` of the next page; null on the last one.' });
  const list = z.object({ items: z.array(item), nextCursor });
  const itemId = item.meta()?.id;
  return itemId === undefined ? list : list.meta({ id: `${itemId}Page`, description: 'One page of a list.' });
}
