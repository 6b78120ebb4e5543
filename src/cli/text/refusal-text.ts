/** Refusals in the words of the command line: the option or the argument in place of the field of the API. */
import type { FieldProblem } from '../../kernel/refusal.ts';
import { apiField, type Command, FIELDS_OPTION } from '../command.ts';

/** The text of a refusal: one line, and a line for each problem if there are several. */
export function refusalText(
  { message, details }: { readonly message: string; readonly details: readonly FieldProblem[] | null },
  command: Command,
  given: ReadonlySet<string>,
): string {
  const words = wordsOf(command);
  const inWords = (problem: string): string => withoutFieldNames(problem, words);
  const lines = (details ?? []).map(({ field, problem }) => `${placeOf(field, words, given)} ${inWords(problem)}`);
  const [first] = details ?? [];
  // Some descriptions are sentences of their own.
  const isOfFields = first !== undefined && message.startsWith(`${first.field} ${first.problem}`);
  if (!isOfFields) return [inWords(message), ...(lines.length > 1 ? lines.map((line) => `  ${line}`) : [])].join('\n');
  return lines.length === 1
    ? (lines[0] ?? '')
    : [`${lines.length} problems:`, ...lines.map((line) => `  ${line}`)].join('\n');
}

/** The field of the API that an option or argument sets, with the word for it on the command line. */
type Word = { readonly field: string; readonly option: string; readonly shown: string };

function wordsOf({ options = {}, operands = [] }: Command): readonly Word[] {
  return [
    ...Object.entries(options).flatMap(([name, option]) => {
      const field = apiField(name, option);
      return field === null ? [] : [{ field, option: name, shown: `--${name}` }];
    }),
    ...operands.flatMap(({ name, field }) =>
      field === undefined ? [] : [{ field, option: name, shown: `<${name}>` }],
    ),
  ];
}

/** `eventTypes[1]` as `--event`, and `retry.maxAttempts` as `--fields: retry.maxAttempts`. */
function placeOf(field: string, words: readonly Word[], given: ReadonlySet<string>): string {
  const word = words.find(
    (known) => field === known.field || field.startsWith(`${known.field}.`) || field.startsWith(`${known.field}[`),
  );
  const isInFields = given.has(FIELDS_OPTION) && !(word !== undefined && given.has(word.option));
  if (isInFields) return `--${FIELDS_OPTION}: ${field}`;
  if (word === undefined) return field;
  const inner = field.slice(word.field.length).replace(/^\[\d+\]\.?|^\./, '');
  return inner === '' ? word.shown : `${word.shown}: ${inner}`;
}

/** Problems name other fields too. Only names with a capital letter are replaced, because the others are also English words. */
function withoutFieldNames(problem: string, words: readonly Word[]): string {
  return words
    .filter(({ field }) => /^[a-z]+[A-Z]\w*$/.test(field))
    .reduce((text, { field, shown }) => text.replaceAll(new RegExp(`(?<![\\w.])${field}(?!\\w)`, 'g'), shown), problem);
}
