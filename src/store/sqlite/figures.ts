/** Counts per interval (`figure`), for charts. Intervals have three lengths; longer ones are retained longer. */

import {
  addFigures,
  beginningOf,
  COUNTS,
  FIGURE_SPANS,
  type FigureAt,
  type FigureStore,
  noFigures,
} from '../figures.ts';
import { measured } from '../steps.ts';
import type { Database, Row, Statement } from './driver/database.ts';

const COLUMNS: Readonly<Record<(typeof COUNTS)[number] | 'latencies', string>> = {
  delivered: 'delivered',
  retried: 'retried',
  dead: 'dead',
  attempts: 'attempts',
  failedAttempts: 'failed_attempts',
  tokensIssued: 'tokens_issued',
  tokensRefused: 'tokens_refused',
  callsRefused: 'calls_refused',
  latencies: 'latencies',
};

const READ = `
  SELECT at, ${Object.values(COLUMNS).join(', ')} FROM figure
  WHERE span_seconds = @spanSeconds AND webhook_number = @webhookNumber AND at >= @from AND at < @to ORDER BY at`;
const WRITE = `
  INSERT INTO figure (span_seconds, webhook_number, at, ${Object.values(COLUMNS).join(', ')})
  VALUES (@spanSeconds, @webhookNumber, @at, ${Object.keys(COLUMNS)
    .map((name) => `@${name}`)
    .join(', ')})
  ON CONFLICT (span_seconds, webhook_number, at) DO UPDATE
  SET ${Object.values(COLUMNS)
    .map((column) => `${column} = excluded.${column}`)
    .join(', ')}`;
const PURGE = `
  DELETE FROM figure WHERE (span_seconds, webhook_number, at) IN (
    SELECT span_seconds, webhook_number, at FROM figure WHERE span_seconds = @spanSeconds AND at < @before
    ORDER BY at LIMIT @limit)`;

export function figureStore(database: Database): FigureStore {
  const readStretches: FigureStore['read'] = async (spanSeconds, webhookNumber, from, to) =>
    (await database.all(READ, { spanSeconds, webhookNumber, from, to })).map((row) => read(row, webhookNumber));
  return {
    read: readStretches,
    add: (gathered) =>
      measured(database, async (db) => {
        const statements: Statement[] = [];
        for (const { seconds: spanSeconds } of FIGURE_SPANS) {
          const sums = new Map<string, FigureAt>();
          for (const { webhookNumber, at: gatheredAt, figures } of gathered) {
            const at = beginningOf(gatheredAt, spanSeconds);
            const name = `${webhookNumber} ${at}`;
            const [before] = sums.has(name)
              ? [sums.get(name)]
              : await readStretches(spanSeconds, webhookNumber, at, at + 1);
            const sum = before ?? { webhookNumber, at, figures: noFigures() };
            addFigures(sum.figures, figures);
            sums.set(name, sum);
          }
          for (const sum of sums.values()) statements.push({ sql: WRITE, params: { spanSeconds, ...columnsOf(sum) } });
        }
        if (statements.length > 0) await db.commit(statements);
        return { done: true, rows: gathered.length };
      }),
    purge: (now, limit) =>
      measured(database, async (db) => {
        const taken = await db.commit(
          FIGURE_SPANS.map(({ seconds, keptMs }) => ({
            sql: PURGE,
            params: { spanSeconds: seconds, before: beginningOf(now, seconds) - keptMs, limit },
          })),
        );
        const rows = taken.reduce((sum, { changes }) => sum + changes, 0);
        return { done: taken.every(({ changes }) => changes < limit), rows };
      }),
  };
}

function columnsOf({
  webhookNumber,
  at,
  figures: { latencies, ...counts },
}: FigureAt): Record<string, string | number> {
  return { webhookNumber, at, ...counts, latencies: JSON.stringify([...latencies].flat()) };
}

function read(row: Row, webhookNumber: number): FigureAt {
  const figures = noFigures();
  for (const name of COUNTS) figures[name] = Number(row[COLUMNS[name]]);
  const flat = JSON.parse(String(row.latencies)) as number[];
  for (let at = 0; at < flat.length; at += 2) figures.latencies.set(Number(flat[at]), Number(flat[at + 1]));
  return { webhookNumber, at: Number(row.at), figures };
}
