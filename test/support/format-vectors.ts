/** test/vectors/formats.json: events, and the bodies and headers that carry them in each format. For senders and receivers. */
import { readFileSync } from 'node:fs';
import type { FormattedRecord } from '../../src/domain/event.ts';
import type { EventFormat } from '../../src/domain/webhook-format.ts';

type EventVector = Omit<FormattedRecord, 'createdAt'> & { readonly createdAt: string };

export type FormatVector = Pick<EventFormat, 'format' | 'batch' | 'thin'> & {
  readonly name: string;
  readonly test?: true;
  /** The names of the events that it carries. */
  readonly events: readonly string[];
  /** Without those that do not depend on the format. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

type Vectors = {
  readonly source: string;
  readonly sources: Readonly<Record<string, string>>;
  readonly url: readonly [string, string];
  readonly events: Readonly<Record<string, EventVector>>;
  readonly bodies: readonly FormatVector[];
};

export const formatVectors: Vectors = JSON.parse(
  readFileSync(new URL('../vectors/formats.json', import.meta.url), 'utf8'),
);

export function eventsOf({ events }: FormatVector): [FormattedRecord, ...FormattedRecord[]] {
  return events.map((name) => {
    const event = formatVectors.events[name];
    if (event === undefined) throw new Error(`there is no event ${name}`);
    return { ...event, createdAt: Date.parse(event.createdAt) };
  }) as [FormattedRecord, ...FormattedRecord[]];
}

export function formatOfVector({ format, batch, thin, test }: FormatVector): EventFormat {
  const { source, sources, url } = formatVectors;
  return { format, batch, thin, test, source, sources: new Map(Object.entries(sources)), url };
}

/** The `source` of an event by the vectors. */
export function sourceOf({ eventType }: Pick<FormattedRecord, 'eventType'>): string {
  return formatVectors.sources[eventType] ?? formatVectors.source;
}
