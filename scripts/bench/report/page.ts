/** The report as a page of the documentation, made of stored results and of notes.md. */
import { isMet, type ThreadProfile } from './result.ts';
import type { StoredResult } from './stored.ts';
import { cellsOf, goalCells, profileCells } from './table.ts';

/** Remarks on results, beside their profiles, by the name of the benchmark. */
export type Notes = ReadonlyMap<string, string>;

/** A section for each `## name` of the notes. */
export function readNotes(text: string): Notes {
  const sections = text.split(/^## /m).slice(1);
  return new Map(
    sections.map((section) => {
      const [name = '', ...body] = section.split('\n');
      return [name.trim(), body.join('\n').trim()];
    }),
  );
}

/**
 * The notes `decide` and `postgresql` are sections of their own, at the beginning and at the end: scripts/bench/cost.ts measures their
 * figures, and stores none.
 */
export function reportPage(stored: readonly StoredResult[], notes: Notes): string {
  const [decide, onPostgres] = ['decide', 'postgresql'].map((name) => notes.get(name));
  const sections = [
    INTRODUCTION,
    ...(decide === undefined ? [] : [`## From publish to delivery, beside others\n\n${decide}`]),
    METHOD,
    environments(stored),
    goalTable(stored),
    ...stored.map((one) => section(one, notes)),
    ...(onPostgres === undefined ? [] : [`## On PostgreSQL\n\n${onPostgres}`]),
  ];
  return `${sections.join('\n\n')}\n`;
}

const INTRODUCTION = `<!-- Made by \`npm run bench -- --write-report\` of measured results and of scripts/bench/notes.md. Not to be \
edited. -->
# Benchmarks

What you gain: one process on two cores issues thousands of access tokens, checks tens of thousands of API calls and delivers tens \
of thousands of records in batches each
second, with about 200 MB of memory and no database server. That is more than the libraries and queues that you would otherwise \
combine reached on the same machine.
Operations take about as long with millions of rows as with thousands.`;

const METHOD = `## How it is measured

Each benchmark measures its contenders in one run, in rounds, one after the other and then again. The bare server or client shows the
limit of the machine. Figures are medians, with the minimum and the maximum in parentheses. Absolute figures depend on the machine and the
moment; ratios last longer. \`npm run bench\` runs every benchmark in less than 20 minutes ([scripts/bench/](../scripts/bench/)). It names
the Debian packages that are missing and installs the peers from npm. This page has the newest result of each benchmark; they may be from
different runs.

The tables of threads come from V8's profiler, in a separate measurement without the start. The time of a function counts for its \
purpose, and the time of shared code (buffers,
SQLite, Node's native code) counts for its caller. Waiting for a core or the disk within a function counts as busy.`;

function environments(stored: readonly StoredResult[]): string {
  const [first] = stored;
  if (first === undefined) throw new Error('there are no results to report: run npm run bench first');
  const rows = stored.map(({ machine: { cores, cpu, system, kernel }, measuredAt, result }) => [
    result.title,
    measuredAt.slice(0, 16).replace('T', ' '),
    `${cores} cores, ${cpu}, ${system}, Linux ${kernel}`,
  ]);
  const distinct = new Map(rows.map(([, , machine = '']) => [machine, rows.filter((row) => row[2] === machine)]));
  const machines = [...distinct].map(([machine, own]) => {
    const times = own.map(([, at = '']) => at).sort();
    return (
      `- ${machine}: ${own.length === rows.length ? 'everything' : own.map(([title]) => title).join(', ')}; ` +
      `finished ${times[0]} to ${times.at(-1)} UTC`
    );
  });
  const versions = new Map(stored.flatMap(({ versions }) => Object.entries(versions)));
  const named = [...versions].map(([name, version]) => `${name} ${version}`).join(', ');
  return `**Measured** on\n\n${machines.join('\n')}\n\nwith ${named}.`;
}

function goalTable(stored: readonly StoredResult[]): string {
  const rows = stored.flatMap(({ result }) => result.goals.map((goal) => [result.title, ...goalCells(goal)]));
  const met = stored.flatMap(({ result }) => result.goals).filter(isMet).length;
  return `## Goals\n\n${met} of ${rows.length} are met.\n\n${markdownTable(['', 'goal', 'wanted', 'measured', ''], rows)}`;
}

/** All that there are, mostly. */
const PROFILE_SHARES = 15;

function section({ result }: StoredResult, notes: Notes): string {
  const { head, body } = cellsOf(result);
  const note = notes.get(result.bench);
  const notMeasured = result.notMeasured.map((what) => `Not measured: ${what}.`);
  return [
    `## ${result.title}`,
    result.method,
    markdownTable(head, body),
    ...notMeasured,
    ...(result.profile ?? []).map(profileTable),
    ...(note === undefined ? [] : [note]),
  ].join('\n\n');
}

function profileTable(thread: ThreadProfile): string {
  const { head, body } = profileCells(thread, PROFILE_SHARES);
  return markdownTable(head, body);
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = `|${head.map((_, at) => (at === 0 ? '---' : '---:')).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
