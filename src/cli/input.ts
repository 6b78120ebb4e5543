/** Input of commands: text from an argument, a file or standard input, JSON, and the options of lists. */

import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { EVENT_REQUEST_BYTES, PAGE_DEFAULT, PAGE_MAX } from '../domain/limits.ts';
import { isUuidV7 } from '../kernel/ids.ts';
import { jsonProblem } from '../kernel/json-place.ts';
import { blankEndProblem } from '../kernel/schemas.ts';
import { definedFields, isObject } from '../kernel/validation.ts';
import { type ListRules, parseList, sortsOf } from '../resources/list-rules.ts';
import type { After, Filter } from '../store/port/resource.ts';
import { apiField, FIELDS_OPTION, type Invocation, type Option } from './command.ts';
import { CommandError, UsageError } from './errors.ts';

/** The text itself, the file for `@<file>`, or standard input for `-`. */
async function readText({ terminal }: Invocation, given: string): Promise<string> {
  if (given === '-') return readStandardInput(terminal);
  return given.startsWith('@') ? readFile(given.slice(1)) : given;
}

/** A secret, read by `readText`. One that begins or ends with white space is refused, as everywhere: a file may end with a line feed. */
export async function readSecretText(invocation: Invocation, option: string, given: string): Promise<string> {
  const text = await readText(invocation, given);
  const problem = blankEndProblem(text);
  if (problem !== null)
    throw new UsageError(`--${option} ${problem}: printf '%s' writes a text without one`, invocation.command.name);
  return text;
}

/** The text of a file, or of standard input for `-`. */
export async function readFileOrInput({ terminal }: Invocation, name: string): Promise<string> {
  return name === '-' ? readStandardInput(terminal) : readFile(name);
}

/** The JSON value of a file, or of standard input for `-`, of at most `limitBytes`. */
export async function readJsonFile(
  { terminal, command }: Invocation,
  name: string,
  limitBytes: number,
): Promise<unknown> {
  const isInput = name === '-';
  const text = isInput ? await readStandardInput(terminal, limitBytes) : readFile(name, limitBytes);
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${isInput ? 'standard input' : name} is not JSON${jsonFault(text)}`, command.name);
  }
}

/**
 * The body of a request to the API, as the options of the command and `--fields` make it. `read`: the fields whose value is not that of
 * their option. Options win over `--fields`, and `read` over both; undefined changes nothing.
 */
export async function bodyOf(
  invocation: Invocation,
  read: Readonly<Record<string, unknown>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const { options = {} } = invocation.command;
  const body: Record<string, unknown> = {
    ...(FIELDS_OPTION in options && (await readJsonObject(invocation, FIELDS_OPTION))),
  };
  for (const [name, option] of Object.entries(options)) {
    const field = name === FIELDS_OPTION ? null : apiField(name, option);
    const value = field === null ? undefined : await givenValue(invocation, name, option);
    if (field === null || value === undefined) continue;
    const [outer = '', inner] = field.split('.');
    body[outer] = inner === undefined ? value : { ...(body[outer] as object | undefined), [inner]: value };
  }
  return { ...body, ...definedFields(read) };
}

/** Undefined if the option is not given. */
async function givenValue(
  invocation: Invocation,
  name: string,
  { value, integer, object, many, sets = true }: Option,
): Promise<unknown> {
  if (value === undefined) return invocation.given(name) ? sets : undefined;
  if (object === true) return readJsonObject(invocation, name);
  if (integer === true) return invocation.integer(name);
  if (many !== true) return invocation.text(name);
  const texts = invocation.texts(name);
  return texts.length === 0 ? undefined : texts;
}

/** The value of an option as a JSON object, read by `readText`. Undefined without the option. */
export async function readJsonObject(
  invocation: Invocation,
  option: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const given = invocation.text(option);
  return given === undefined ? undefined : readJson(invocation, `--${option}`, given);
}

/** An argument as a JSON object, read by `readText`. `name` is its name in errors. */
async function readJson(
  invocation: Invocation,
  name: string,
  given: string,
): Promise<Readonly<Record<string, unknown>>> {
  return parseObject(invocation, name, await readText(invocation, given));
}

/** The same as the text that was given. */
export async function readJsonText(invocation: Invocation, name: string, given: string): Promise<string> {
  const text = await readText(invocation, given);
  parseObject(invocation, name, text);
  return text;
}

function parseObject(invocation: Invocation, name: string, text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError(`${name} is not JSON${jsonFault(text)}`, invocation.command.name);
  }
  if (!isObject(value)) throw new UsageError(`${name} is not a JSON object`, invocation.command.name);
  return value;
}

/** Where the text is not JSON, and what to do about a name or a text without quotes. */
function jsonFault(text: string): string {
  const problem = jsonProblem(text);
  if (problem === null) return '';
  const place = problem.replace('line 1, ', '');
  const needsQuotes = /^unexpected "[A-Za-z_']/.test(problem);
  return `: ${place}${needsQuotes ? `. Names and texts need double quotes, as in '{"orderId": 42}'` : ''}`;
}

export const PAGE_OPTIONS: Readonly<Record<string, Option>> = {
  limit: {
    value: '<number>',
    integer: true,
    description: `Items per page, 1 to ${PAGE_MAX} (default: ${PAGE_DEFAULT})`,
  },
  cursor: { value: '<cursor>', description: 'The cursor that the previous page ended with' },
};

/** The options of a list: page, order if there is a choice, and filters. Names are those of the API in kebab case. */
export function listOptions(rules: ListRules): Readonly<Record<string, Option>> {
  const filters = Object.entries(rules.filters).map(([name, { schema, description }]): [string, Option] => {
    const choices = schema instanceof z.ZodEnum ? schema.options.map(String) : undefined;
    const value = choices === undefined ? '<text>' : `<${choices.join('|')}>`;
    const option = { value, description: description.replace(/\.$/, '').replaceAll('`', '') };
    return [kebabCase(name), choices === undefined ? option : { ...option, choices }];
  });
  const sorted = Object.keys(rules.sorts);
  const fields = ['createdAt', ...sorted].join(', ');
  const description = `Order by ${fields}; descending as --sort=-createdAt (default: createdAt)`;
  const sort: Option = { value: '<field>', choices: sortsOf(rules), description };
  return { ...Object.fromEntries(filters), ...(sorted.length > 0 && { sort }), ...PAGE_OPTIONS };
}

/** The page, order and filter of the options. */
export function readListOptions(
  invocation: Invocation,
  rules: ListRules,
): { readonly limit: number; readonly after: After; readonly filter: Filter } {
  const { command, text } = invocation;
  const refuse = (name: string, problem: string): UsageError =>
    new UsageError(`--${kebabCase(name)} ${problem}`, command.name);
  return { limit: readLimit(invocation), ...parseList(rules, (name) => text(kebabCase(name)), refuse) };
}

function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function readLimit(invocation: Invocation): number {
  const limit = invocation.integer('limit') ?? PAGE_DEFAULT;
  if (limit < 1 || limit > PAGE_MAX) {
    throw new UsageError(`--limit must be a whole number from 1 to ${PAGE_MAX}`, invocation.command.name);
  }
  return limit;
}

/** The options of a list whose use case reads the cursor. */
export function readCursorOptions(invocation: Invocation): { readonly limit: number; readonly cursor: string | null } {
  return { limit: readLimit(invocation), cursor: invocation.text('cursor') ?? null };
}

/** The options of a list whose cursors are ids. */
export function readPageOptions(invocation: Invocation): { readonly limit: number; readonly cursor: string | null } {
  const { limit, cursor } = readCursorOptions(invocation);
  if (cursor !== null && !isUuidV7(cursor))
    throw new UsageError('--cursor is not a cursor of this list', invocation.command.name);
  return { limit, cursor };
}

function readFile(name: string, limitBytes = Number.POSITIVE_INFINITY): string {
  try {
    if (statSync(name).size <= limitBytes) return readFileSync(name, 'utf8');
  } catch (cause) {
    throw new CommandError(`${name} cannot be read (${(cause as NodeJS.ErrnoException).code})`, { cause });
  }
  throw new CommandError(`${name} has more than ${limitBytes} bytes`);
}

async function readStandardInput(
  terminal: Invocation['terminal'],
  limitBytes: number = EVENT_REQUEST_BYTES,
): Promise<string> {
  const text = await terminal.read(limitBytes);
  if (text === null) throw new CommandError(`standard input has more than ${limitBytes} bytes`);
  return text;
}
