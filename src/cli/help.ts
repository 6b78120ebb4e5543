/** Help texts, made from the declarations of the commands. */

import type { GroupEntry } from './command.ts';
import { allOptions, type Command, type CommandGroup, type Option } from './command.ts';
import { TEXT_WIDTH, wrapped } from './text/wrapped.ts';

/** `sallyport --help`. */
export function overviewHelp(groups: readonly GroupEntry[]): string {
  return `Sallyport: access tokens with scopes on the way in, signed webhook deliveries on the way out.

Usage: sallyport <command> [<arguments>]

${columns(groups.map(({ name, summary }) => [name, summary]))}
Run sallyport help <command> for details.
Settings are SALLYPORT_ variables; sallyport serve --help lists them.
Exit status: 0 done, 1 failed, 2 wrong usage or settings.
`;
}

/** `sallyport application --help`. A group with one command shows the help of that command. */
export function groupHelp({ name, summary }: GroupEntry, commands: CommandGroup): string {
  const [only] = commands;
  if (only?.name === name && commands.length === 1) return commandHelp(only);
  return `${summary}.

Usage: sallyport ${name} <command> [<arguments>]

${columns(commands.map((command) => [command.name, command.summary]))}
Run sallyport help ${name} <command> for details.
`;
}

/** `sallyport application create --help`. `others`: the other commands of a group that is itself a command. */
export function commandHelp(command: Command, others: CommandGroup = []): string {
  const { name, summary, explanation, examples, operands = [] } = command;
  const options = Object.entries(allOptions(command));
  const required = options
    .filter(([, option]) => option.required === true)
    .map(([option, { value }]) => ` --${option} ${value}`);
  const usage = [`sallyport ${name}`, ...operands.map((operand) => ` <${operand.name}>`), ...required].join('');
  const described = operands.map((operand): [string, string] => [`<${operand.name}>`, operand.description]);
  return [
    `${summary}.\n`,
    `Usage: ${usage} [<options>]\n`,
    ...(explanation === undefined ? [] : [`${paragraphs(explanation)}\n`]),
    ...(described.length === 0 ? [] : [columns(described)]),
    columns(
      options.map(([option, { value, description, many }]) => [
        optionText(option, value),
        repeatable(description, many),
      ]),
    ),
    `${examples.length === 1 ? 'Example' : 'Examples'}:\n${examples.map((line) => `  ${line}\n`).join('')}`,
    ...(others.length === 0 ? [] : [`Commands:\n${columns(others.map((other) => [other.name, other.summary]))}`]),
  ].join('\n');
}

function optionText(name: string, value: Option['value']): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function repeatable(description: string, many: Option['many']): string {
  return many === true ? `${description}; may be repeated` : description;
}

/** The right column is not narrower than this. */
const RIGHT_MIN = 48;

function columns(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([left]) => left.length));
  const indent = ' '.repeat(width + 4);
  const room = Math.max(RIGHT_MIN, TEXT_WIDTH - indent.length);
  return lines
    .map(([left, right]) => `  ${left.padEnd(width)}  ${wrapped(right, room).join(`\n${indent}`)}\n`)
    .join('');
}

/** Fits the lines of an explanation. Indented ones stay as they are, and so does the one above them. */
function paragraphs(text: string): string {
  return text
    .replaceAll(/(?<!:)\n(?! )/g, ' ')
    .split('\n')
    .flatMap((line) => (line.startsWith(' ') ? [line] : wrapped(line, TEXT_WIDTH)))
    .join('\n');
}
