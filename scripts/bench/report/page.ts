/** The report as a page of the documentation, made of stored results and of notes.md. */
import { type BenchResult, isMet, type ThreadProfile } from './result.ts';
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

/** `charts` is the folder of the charts as the page links to it. */
export function reportPage(stored: readonly StoredResult[], notes: Notes, charts: string): string {
  return `${[INTRODUCTION, environments(stored), goalTable(stored), ...stored.map((one) => section(one, notes, charts))].join('\n\n')}\n`;
}

const INTRODUCTION = `<!-- Made by \`npm run bench -- --write-report\` of measured results and of scripts/bench/notes.md. Not to be edited. -->
# Benchmarks

How Sallyport compares with what could be picked instead, and with the limit of the machine, measured side by side: the contenders of one benchmark in one run, in
rounds, one after the other and then again. Figures are medians, with the least and the most in parentheses. Absolute ones belong to a machine and a moment; ratios last
longer. \`npm run bench\` runs every benchmark anew in less than 15 minutes ([scripts/bench/](../scripts/bench/)); it says which Debian packages it misses, and installs
the peers from npm. Here stands the newest result of each benchmark, and they need not be of one run.

Where a table says what a thread of Sallyport was busy with, that is V8's profile of one more measurement, of a service of its own, without its start. What a function
does itself counts for what it is for, and what serves many (buffers, SQLite, Node's native code) for whoever called it; waiting for a core or for the disk within a
function counts as being busy.`;

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
    return `- ${machine}: ${own.length === rows.length ? 'everything' : own.map(([title]) => title).join(', ')}; finished ${times[0]} to ${times.at(-1)} UTC`;
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

function section({ result }: StoredResult, notes: Notes, charts: string): string {
  const { head, body } = cellsOf(result);
  const note = notes.get(result.bench);
  const notMeasured = result.notMeasured.map((what) => `Not measured: ${what}.`);
  return [
    `## ${result.title}`,
    result.method,
    `![${altText(result)}](${charts}/${result.bench}.svg)`,
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

function altText({ title, figures, chart }: BenchResult): string {
  return chart.kind === 'bars' ? `${title}: ${figures[0]?.name ?? ''} of each` : `${title}: a line for each row below`;
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = `|${head.map((_, at) => (at === 0 ? '---' : '---:')).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
