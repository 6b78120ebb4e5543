/** The report of an import: a table, the reasons of refusals, the losses, and the next step. */

import type { ImportRow } from '../../importing/carry-out.ts';
import { escapeControls, tableText } from '../output.ts';
import { TEXT_WIDTH, wrapped } from '../text/wrapped.ts';

const INDENT = '  ';

type RowCounts = {
  readonly made: number;
  readonly there: number;
  readonly refused: number;
  readonly started: number;
};

export function rowCounts(rows: readonly ImportRow[]): RowCounts {
  const of = (wanted: ImportRow['result']): number => rows.filter(({ result }) => result === wanted).length;
  return {
    made: of('made'),
    there: of('there'),
    refused: of('refused'),
    started: rows.filter(({ started }) => started).length,
  };
}

/** `asked`: with `--apply`. */
export function importText(
  rows: readonly ImportRow[],
  { applied, asked, width }: { readonly applied: boolean; readonly asked: boolean; readonly width: number | undefined },
): string {
  if (rows.length === 0) return 'The export is empty.\n';
  const results = { made: applied ? 'made' : 'to be made', there: 'there already', refused: 'refused' };
  const shown = rows.map(({ result, started, ...row }) => ({
    ...row,
    customer: row.customer ?? '',
    result: started ? `${results[result]}, started` : results[result],
  }));
  const table = tableText(shown, ['kind', 'name', 'customer', { field: 'result', whole: true }], width);
  const reasonsOf = (some: readonly ImportRow[]): string[] =>
    some.flatMap(({ path, reason }) => (reason === null ? [] : [`${path}: ${reason}`]));
  const lost = rows
    .filter(({ result }) => result === 'made')
    .flatMap((row) => row.lost.map((one) => `${row.path}: ${one}`));
  const parts = [
    table,
    listOf('Refused', reasonsOf(rows.filter(({ result }) => result === 'refused'))),
    listOf('Not started', reasonsOf(rows.filter(({ result }) => result !== 'refused'))),
    listOf(applied ? 'Not kept' : 'Cannot be kept', lost),
    endOf(rows, applied, asked),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function endOf(rows: readonly ImportRow[], applied: boolean, asked: boolean): string {
  const { made, there, refused, started } = rowCounts(rows);
  const counts = `${made} ${applied ? 'made' : 'to be made'}, ${there} there already, ${refused} refused.`;
  const vouched = made > 0 ? [VOUCHED] : [];
  const next = refused > 0 ? [REFUSED] : asked || made === 0 ? [] : ['To make it, run the command again with --apply.'];
  const texts = applied
    ? [
        started > 0 ? `${counts} ${started} webhook${started === 1 ? '' : 's'} started.` : counts,
        ...vouched,
        ...(made > 0 ? [STOPPED] : []),
      ]
    : [`${counts} Nothing was changed.`, ...next, ...vouched];
  return texts.map((text) => `${linesOf(text, '')}\n`).join('');
}

const REFUSED =
  'As long as something is refused, --apply makes nothing: correct the export, or add --skip-refused to leave it out.';
const VOUCHED =
  'No endpoint has to answer a challenge: you vouch that each of them belongs to its customer. To ask for one later, ' +
  'turn tokenChallenge on.';
const STOPPED =
  'Webhooks that are not started keep their events until you start them, with --start or sallyport webhook start.';

function listOf(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return '';
  return `${title}:\n${lines.map((line) => `${linesOf(line, INDENT)}\n`).join('')}`;
}

/** Lines of at most 100 characters, if no word is longer. All but the first are indented twice. */
function linesOf(text: string, indent: string): string {
  const lines = wrapped(escapeControls(text), TEXT_WIDTH - indent.length, indent.length);
  return indent + lines.join(`\n${indent}${indent}`);
}
