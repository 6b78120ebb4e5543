/** The commands of every configured resource: list, show, update by merge patch, and delete. */
import type { SettingName } from '../config/names.ts';
import { type Acting, COMMAND_LINE } from '../domain/acting.ts';
import { PAGE_MAX } from '../domain/limits.ts';
import { isUuidV7 } from '../kernel/ids.ts';
import { didYouMean } from '../kernel/nearest.ts';
import type { Administration } from '../resources/administration.ts';
import { parseEntityTags } from '../resources/entity-tag.ts';
import type { InputReader } from '../resources/input.ts';
import { cursorBehind, type ListRules, readPage } from '../resources/list-rules.ts';
import type { Composed } from '../services/compose.ts';
import { everyRow, type Filter } from '../store/port/resource.ts';
import type { Command, Invocation, Operand, Option } from './command.ts';
import { CommandError, UsageError } from './errors.ts';
import { bodyOf, listOptions, readListOptions } from './input.ts';
import { DATA_SETTINGS, dataCommand, type RecordCommand, recordCommand } from './open.ts';
import { type Column, printPage, type Shown } from './output.ts';
import { printNamed } from './text/named-record.ts';

export type Configured<T extends { readonly id: string }, Body> = {
  /** The group of the commands: the name of the resource with dashes, such as `event-type`. */
  readonly group: string;
  /** The path in the API, such as `event-types`. */
  readonly path: string;
  readonly operand: Operand;
  administration(composed: Composed): Pick<Administration<T, Body>, 'get' | 'list' | 'patch' | 'remove'>;
  readonly reader: Pick<InputReader<Body, unknown>, 'patch'>;
  /** The names by which commands find a record, besides its id. */
  names(record: T): readonly string[];
  view(record: T, composed: Composed, invocation: Invocation): Shown;
  /** Prints the record. Default: `printNamed` with `view`. */
  print?(invocation: Invocation, record: T): Promise<void>;
  /** Settings of `update` other than those of the data folder. */
  readonly updateSettings?: readonly SettingName[];
  /** Called after a change was printed. */
  noteUpdated?(invocation: Invocation, record: T): Promise<void>;
  /** Further text in the help of `update`. */
  readonly updateExplanation?: string;
  /** For the help: a record, and fields to change with their JSON. */
  readonly example: { readonly name: string; readonly fields: string };
};

type List<T> = {
  /** The columns of the table. `customer` is the name of the customer that the resource belongs to. */
  readonly columns: readonly (string | Column)[];
  /** Filters and orders. Without them, the list is in order of creation. */
  readonly rules?: ListRules;
  /** Default: that of the resource. */
  readonly view?: (record: T, composed: Composed, invocation: Invocation) => Shown;
};

export function listCommand<T extends { readonly id: string }, Body>(
  { group, path, administration, view: viewOne }: Configured<T, Body>,
  { columns, rules = { name: path, filters: {}, sorts: {} }, view = viewOne }: List<T>,
): Command {
  return dataCommand({
    name: `${group} list`,
    summary: `List the ${titleOf(path)}`,
    examples: [`sallyport ${group} list`, `sallyport ${group} list --json --limit 10`],
    options: listOptions(rules),
    run: async (composed, invocation) => {
      const { limit, after, filter } = readListOptions(invocation, rules);
      const list = (count: number) => administration(composed).list(after, count, filter);
      const found = await readPage({ limit }, list, (last) => cursorBehind(rules, after, last));
      const items = found.items.map((record) => view(record, composed, invocation));
      const page = { ...found, items };
      await printPage(invocation, page, columns, invocation.json ? [] : await withCustomers(composed, items));
    },
  });
}

/** The rows with the names of the customers in their `customerId` as `customer`. */
export async function withCustomers({ store }: Composed, rows: readonly Shown[]): Promise<readonly Shown[]> {
  const ids = rows.map(({ customerId }) => customerId).filter((id) => typeof id === 'string');
  if (ids.length === 0) return rows;
  const names = await store.customers.names([...new Set(ids)]);
  return rows.map((row) => ({ ...row, customer: names.get(String(row.customerId)) ?? null }));
}

export function showCommand<T extends { readonly id: string }, Body>(configured: Configured<T, Body>): Command {
  const { group, operand, administration, example } = configured;
  return dataCommand({
    name: `${group} show`,
    summary: `Show ${withArticle(titleOf(group))}`,
    examples: [`sallyport ${group} show ${example.name}`],
    operands: [operand],
    run: async (composed, invocation) => {
      const record = await administration(composed).get(await idOf(configured, composed, invocation));
      await print(configured, composed, invocation, record);
    },
  });
}

/** Options that change single fields, next to or instead of `--fields`. `read`: the fields whose value is not that of their option. */
type ChangeOptions = {
  readonly options: Readonly<Record<string, Option>>;
  read(invocation: Invocation): Promise<Readonly<Record<string, unknown>>>;
};

export function updateCommand<T extends { readonly id: string }, Body>(
  configured: Configured<T, Body>,
  changes?: ChangeOptions,
): Command {
  const { group, path, operand, administration, noteUpdated, updateSettings, updateExplanation, example } = configured;
  const more = updateExplanation === undefined ? '' : `\n${updateExplanation}`;
  return dataCommand({
    name: `${group} update`,
    summary: `Change ${withArticle(titleOf(group))}`,
    explanation:
      `--fields takes the body of PATCH /services/api/x/edge/v1/${path}/{id}: fields that are absent keep their ` +
      `value, and null removes one.${more}`,
    examples: [`sallyport ${group} update ${example.name} --fields '${example.fields}'`],
    operands: [operand],
    options: {
      ...changes?.options,
      fields: {
        value: '<json|@file|->',
        ...(changes === undefined && { required: true }),
        description: 'The fields to change, as a JSON object',
      },
      ...IF_MATCH,
    },
    settings: updateSettings ?? DATA_SETTINGS,
    check: (invocation) => refuseNoChange(invocation, [...Object.keys(changes?.options ?? {}), 'fields']),
    run: async (composed, invocation) => {
      const patch = await bodyOf(invocation, await changes?.read(invocation));
      const id = await idOf(configured, composed, invocation);
      const record = await administration(composed).patch(id, configured.reader.patch(patch), acting(invocation));
      await print(configured, composed, invocation, record);
      await noteUpdated?.(invocation, record);
    },
  });
}

/** A change of nothing would succeed, and hide a mistyped option. */
function refuseNoChange({ command, text }: Invocation, options: readonly string[]): void {
  if (options.some((option) => text(option) !== undefined)) return;
  throw new UsageError(`Use one of ${options.map((option) => `--${option}`).join(', ')}`, command.name);
}

export function deleteCommand<T extends { readonly id: string }, Body>(
  configured: Configured<T, Body>,
  explanation: string,
): Command {
  const { group, operand, administration, example } = configured;
  return dataCommand({
    name: `${group} delete`,
    summary: `Delete ${withArticle(titleOf(group))}`,
    examples: [`sallyport ${group} delete ${example.name}`],
    explanation,
    operands: [operand],
    options: IF_MATCH,
    json: false,
    run: async (composed, invocation) => {
      await administration(composed).remove(await idOf(configured, composed, invocation), acting(invocation));
    },
  });
}

/** A command that acts on the record that its argument names, and prints one. */
export function actionCommand<T extends { readonly id: string }, Body>(
  configured: Configured<T, Body>,
  {
    run,
    ...described
  }: Omit<RecordCommand, 'run' | 'operands'> & {
    run(composed: Composed, invocation: Invocation, id: string): ReturnType<RecordCommand['run']>;
  },
): Command {
  return recordCommand({
    ...described,
    operands: [configured.operand],
    run: async (composed, invocation) => run(composed, invocation, await idOf(configured, composed, invocation)),
  });
}

function idOf<T extends { readonly id: string }, Body>(
  configured: Configured<T, Body>,
  composed: Composed,
  invocation: Invocation,
): Promise<string> {
  return recordId(configured, composed, invocation.operand(configured.operand.name));
}

/**
 * The id of the resource with the given id or name. `among` filters the list that is searched for a name. Throws `CommandError` if none has
 * the name, or several have it.
 */
export async function recordId<T extends { readonly id: string }, Body>(
  { group, path, administration, names }: Pick<Configured<T, Body>, 'group' | 'path' | 'administration' | 'names'>,
  composed: Composed,
  given: string,
  among: Filter = {},
): Promise<string> {
  if (isUuidV7(given)) return given;
  const { list } = administration(composed);
  const known: string[] = [];
  const found: T[] = [];
  /** Found without regard to case, if nothing has exactly this name. */
  const similar: T[] = [];
  const lower = given.toLowerCase();
  for await (const record of everyRow(PAGE_MAX, (after) => list(after, PAGE_MAX, among))) {
    known.push(...names(record));
    if (names(record).some((name) => name === given)) found.push(record);
    else if (names(record).some((name) => name.toLowerCase() === lower)) similar.push(record);
  }
  const named = found.length > 0 ? found : similar;
  const [only, ...others] = named;
  if (only === undefined) {
    const advice = didYouMean(given, known) || `. See: sallyport ${group} list`;
    throw new CommandError(`there is no ${titleOf(group)} ${given}${advice}`);
  }
  if (others.length > 0) {
    const ids = await withOwners(composed, named);
    throw new CommandError(`several ${titleOf(path)} are named ${given}: use one of ${ids.join(', ')}`);
  }
  return only.id;
}

/** Ids, each with the customer whose it is. */
async function withOwners(composed: Composed, records: readonly { readonly id: string }[]): Promise<string[]> {
  const rows = await withCustomers(composed, records);
  return rows.map(({ id, customer }) => (typeof customer === 'string' ? `${id} (${customer})` : String(id)));
}

async function print<T extends { readonly id: string }, Body>(
  configured: Configured<T, Body>,
  composed: Composed,
  invocation: Invocation,
  record: T,
): Promise<void> {
  if (configured.print !== undefined) return configured.print(invocation, record);
  await printNamed(composed, invocation, configured.view(record, composed, invocation));
}

const IF_MATCH: Readonly<Record<string, Option>> = {
  'if-match': { value: '<etag>', field: null, description: 'Only if the resource still has this ETag' },
};

/** The command line as the actor, with the tag of `--if-match`. The shell may have removed the quotes of the tag. */
function acting({ command, text }: Invocation): Acting {
  const given = text('if-match');
  if (given === undefined || given === '*') return { ...COMMAND_LINE, ifMatch: given };
  const tags = parseEntityTags(given) ?? parseEntityTags(`"${given}"`);
  if (tags === null) throw new UsageError('--if-match must be an ETag from the API', command.name);
  return { ...COMMAND_LINE, ifMatch: tags };
}

/** `event-type` as `event type`. */
function titleOf(group: string): string {
  return group.replace('-', ' ');
}

/** `user` takes "a"; no group begins with another u. */
function withArticle(noun: string): string {
  return `${/^[aeio]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
