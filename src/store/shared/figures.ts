/** Counts per interval (`figure`), for charts. Intervals have three lengths; longer ones are retained longer. */

import type { Database, Row, Statement } from '../port/database.ts';
import {
  type AttemptsAt,
  addFigures,
  beginningOf,
  COUNTS,
  FIGURE_SPANS,
  type FigureAt,
  type FigureStore,
  type Figures,
  noFigures,
} from '../port/figures.ts';
import { measured } from '../port/steps.ts';
import { type Codec, json, number, readRow, snakeCase, table } from './table.ts';

type Counts = Omit<Figures, 'latencies'>;
type Stored = Counts & {
  readonly spanSeconds: number;
  readonly webhookNumber: number;
  readonly at: number;
  /** [bucket, attempts, bucket, attempts, …] */
  readonly latencies: readonly number[];
};

const FIGURE = table<Stored>('figure', 'at', {
  spanSeconds: number,
  webhookNumber: number,
  at: number,
  ...(Object.fromEntries(COUNTS.map((name) => [name, number])) as Record<keyof Counts, Codec<number>>),
  latencies: json<readonly number[]>(),
});

const READ = `
  SELECT ${FIGURE.columns()} FROM figure
  WHERE span_seconds = @spanSeconds AND webhook_number = @webhookNumber AND at >= @from AND at < @to ORDER BY at`;
// Primary key: one range for each webhook.
const ATTEMPTS = `
  SELECT f.webhook_number, f.at, f.attempts, f.failed_attempts
  FROM numbers(@webhookNumbers) AS wanted CROSS JOIN figure AS f
  WHERE f.span_seconds = @spanSeconds AND f.webhook_number = wanted.value AND f.at >= @from`;
const ON_CONFLICT = `
  ON CONFLICT (span_seconds, webhook_number, at) DO UPDATE
  SET ${COUNTS.map(snakeCase)
    .map((count) => `${count} = figure.${count} + excluded.${count}`)
    .join(', ')},
    latencies = add_latencies(figure.latencies, excluded.latencies)`;
const PURGE = `
  DELETE FROM figure WHERE (span_seconds, webhook_number, at) IN (
    SELECT span_seconds, webhook_number, at FROM figure WHERE span_seconds = @spanSeconds AND at < @before
    ORDER BY at LIMIT @limit)`;

export function figureStore(database: Database): FigureStore {
  return {
    read: async (range) => (await database.all(READ, range)).map(read),
    attempts: async ({ webhookNumbers, ...range }) =>
      (await database.all(ATTEMPTS, { ...range, webhookNumbers: JSON.stringify(webhookNumbers) })).map((row) =>
        readRow<AttemptsAt>(row),
      ),
    add: (gathered) =>
      measured(database, async (db) => {
        const statements = FIGURE_SPANS.flatMap(({ seconds }) =>
          sumsOf(gathered, seconds).map((sum) => addStatement(seconds, sum)),
        );
        if (statements.length > 0) await db.commit(statements);
        return { done: true, rows: gathered.length };
      }),
    purge: (now, limit) =>
      measured(database, async (db) => {
        const deleted = await db.commit(
          FIGURE_SPANS.map(({ seconds, keptMs }) => ({
            sql: PURGE,
            params: { spanSeconds: seconds, before: beginningOf(now, seconds) - keptMs, limit },
          })),
        );
        const rows = deleted.reduce((sum, { changes }) => sum + changes, 0);
        return { done: deleted.every(({ changes }) => changes < limit), rows };
      }),
  };
}

/** One sum for each interval, in the order of the primary key: processes that write the same intervals concurrently cannot deadlock. */
function sumsOf(gathered: readonly FigureAt[], spanSeconds: number): FigureAt[] {
  const sums = new Map<string, FigureAt>();
  for (const { webhookNumber, at: gatheredAt, figures } of gathered) {
    const at = beginningOf(gatheredAt, spanSeconds);
    const name = `${webhookNumber} ${at}`;
    const sum = sums.get(name) ?? { webhookNumber, at, figures: noFigures() };
    addFigures(sum.figures, figures);
    sums.set(name, sum);
  }
  return [...sums.values()].sort((one, other) => one.webhookNumber - other.webhookNumber || one.at - other.at);
}

function addStatement(spanSeconds: number, { webhookNumber, at, figures }: FigureAt): Statement {
  const { latencies, ...counts } = figures;
  const { sql, params } = FIGURE.insert({
    spanSeconds,
    webhookNumber,
    at,
    ...counts,
    latencies: [...latencies].flat(),
  });
  return { sql: sql + ON_CONFLICT, params };
}

function read(row: Row): FigureAt {
  const { webhookNumber, at, spanSeconds: _, latencies: flat, ...counts } = FIGURE.read(row);
  const figures = { ...counts, latencies: new Map<number, number>() };
  for (let n = 0; n < flat.length; n += 2) figures.latencies.set(Number(flat[n]), Number(flat[n + 1]));
  return { webhookNumber, at, figures };
}
