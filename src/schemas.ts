/** Schemas that several resources share. A schema both checks requests and documents them (OpenAPI). */
import { z } from 'zod';

/** A name that people read: no control characters, not blank at either end. */
export const displayName: z.ZodType<string> = z
  .string()
  .min(1)
  .max(200)
  .regex(/^(?!\s)[^\p{Cc}]*(?<!\s)$/u, 'must not begin or end with a space, or hold control characters');

export const id: z.ZodType<string> = z.string().meta({ format: 'uuid', description: 'UUIDv7' });

export const instant: z.ZodType<string> = z
  .string()
  .meta({ format: 'date-time', description: 'ISO 8601 UTC with milliseconds', examples: ['2026-11-21T05:00:00.000Z'] });

/** The same instant for those who write it (wire.md §1). */
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
/** Instants of one day come after one another, and a day written out takes as long as all the rest. */
let lastDay = { number: Number.NaN, text: '' };
const TWO: readonly string[] = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'));

/** What is said of a text that is no `moment`. */
export const NOT_A_MOMENT = 'must be an instant, as 2026-11-21T05:00:00.000Z';

/** An instant that a caller names, with its zone: without one it would mean another instant on another machine. */
export const moment: z.ZodType<string> = z.iso.datetime({ offset: true, error: NOT_A_MOMENT });

/** The same as people write it, who may leave the seconds out; null for what is none. */
export function parseMoment(text: string): number | null {
  const whole = text.replace(/(T\d\d:\d\d)(?!:)/, '$1:00');
  return moment.safeParse(whole).success ? Date.parse(whole) : null;
}

/** A list without repeats. */
export function distinct<Item extends string>(item: z.ZodType<Item>, max: number): z.ZodType<Item[]> {
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

/** `GET` of a list (wire.md §1). */
export function page<Item>(item: z.ZodType<Item>): z.ZodType<{ items: Item[]; nextCursor: string | null }> {
  const nextCursor = z
    .string()
    .nullable()
    .meta({ description: 'The `cursor` of the next page; null on the last one.' });
  const list = z.object({ items: z.array(item), nextCursor });
  const itemId = item.meta()?.id;
  return itemId === undefined ? list : list.meta({ id: `${itemId}Page`, description: 'One page of a list.' });
}
