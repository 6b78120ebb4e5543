/** The commands that every configured thing has: it is listed, shown, changed by a merge patch, and removed where nothing refers to it. */

import type { Composed } from '../compose.ts';
import type { SettingName } from '../config/names.ts';
import { type Acting, COMMAND_LINE } from '../resources/acting.ts';
import type { Administration } from '../resources/administration.ts';
import { parseEntityTags } from '../resources/entity-tag.ts';
import { cursorBehind, type ListRules } from '../resources/list-rules.ts';
import type { Command, Invocation, Operand, Option } from './command.ts';
import { UsageError } from './errors.ts';
import { listOptions, readJsonObject, readListOptions } from './input.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printPage, printRecord } from './output.ts';

type Configured<T> = {
  /** The group, which is what the thing is called with dashes, and where its fields are described: `webhook`, `webhooks`. */
  readonly group: string;
  readonly path: string;
  readonly operand: Operand;
  administration(composed: Composed): Pick<Administration<T>, 'get' | 'patch' | 'remove'>;
  /** The id that the operand stands for; itself where absent. */
  id?(composed: Composed, operand: string): Promise<string>;
  view(record: T, composed: Composed, invocation: Invocation): Readonly<Record<string, unknown>>;
  /** What a change needs besides the data folder. */
  readonly updateSettings?: readonly SettingName[];
  /** Says beside what a change made of it what it did not. */
  noteUpdated?(invocation: Invocation, record: T): Promise<void>;
  /** What help says of a change, beyond what is the same for all. */
  readonly updateExplanation?: string;
};

type Listed<T> = {
  readonly name: string;
  readonly summary: string;
  /** What people see of each. */
  readonly columns: readonly string[];
  /** Its filters and orders; without them it is listed in order of creation. */
  readonly rules?: ListRules;
  administration(composed: Composed): Pick<Administration<T>, 'list'>;
  view(record: T, composed: Composed, invocation: Invocation): Readonly<Record<string, unknown>>;
};

export function listCommand<T extends { readonly id: string }>(listed: Listed<T>): Command {
  const { name, summary, columns, administration, view } = listed;
  const rules = listed.rules ?? { name, filters: {}, sorts: [] };
  return {
    name,
    summary,
    options: listOptions(rules),
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async (composed) => {
        const { limit, after, filter } = readListOptions(invocation, rules);
        // One more than asked for shows whether there is a next page.
        const found = await administration(composed).list(after, limit + 1, filter);
        const shown = found.slice(0, limit);
        const last = shown.at(-1);
        const nextCursor = found.length > limit && last !== undefined ? cursorBehind(rules, after, last) : null;
        const items = shown.map((record) => view(record, composed, invocation));
        await printPage(invocation, { items, nextCursor }, columns);
        return 0;
      }),
  };
}

export function showCommand<T>({ group, operand, administration, id, view }: Configured<T>): Command {
  return {
    name: `${group} show`,
    summary: `Show one ${titleOf(group)}`,
    operands: [operand],
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async (composed) => {
        const named = invocation.operand(operand.name);
        const record = await administration(composed).get((await id?.(composed, named)) ?? named);
        await printRecord(invocation, view(record, composed, invocation));
        return 0;
      }),
  };
}

/** Options that name what changes in place of `--fields`, where JSON is a hard way to say it. */
type ChangeOptions = {
  readonly options: Readonly<Record<string, Option>>;
  read(invocation: Invocation): Promise<Readonly<Record<string, unknown>>>;
};

export function updateCommand<T>(configured: Configured<T>, changes?: ChangeOptions): Command {
  const { group, path, operand, administration, id, view, noteUpdated, updateSettings, updateExplanation } = configured;
  const more = updateExplanation === undefined ? '' : `\n${updateExplanation}`;
  return {
    name: `${group} update`,
    summary: `Change ${withArticle(titleOf(group))}`,
    explanation: `--fields names what changes, as PATCH /services/api/x/edge/v1/${path}/{id} takes it: the rest stays, and null takes a value away.${more}`,
    operands: [operand],
    options: {
      ...changes?.options,
      fields: {
        value: '<json|@file|->',
        ...(changes === undefined && { required: true }),
        description: 'What to change, as a JSON object',
      },
      ...IF_MATCH,
    },
    settings: updateSettings ?? DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      refuseNoChange(invocation, [...Object.keys(changes?.options ?? {}), 'fields']);
      return withData(invocation, async (composed) => {
        const patch = { ...(await readJsonObject(invocation, 'fields')), ...(await changes?.read(invocation)) };
        const named = invocation.operand(operand.name);
        const record = await administration(composed).patch(
          (await id?.(composed, named)) ?? named,
          patch,
          acting(invocation),
        );
        await printRecord(invocation, view(record, composed, invocation));
        await noteUpdated?.(invocation, record);
        return 0;
      });
    },
  };
}

/** A change of nothing would succeed, and leave whoever mistyped it in the belief that it has done something. */
function refuseNoChange({ command, text }: Invocation, options: readonly string[]): void {
  if (options.some((option) => text(option) !== undefined)) return;
  throw new UsageError(`it takes one of ${options.map((option) => `--${option}`).join(', ')}`, command.name);
}

export function removeCommand<T>({ group, operand, administration, id }: Configured<T>, explanation: string): Command {
  return {
    name: `${group} remove`,
    summary: `Remove ${withArticle(titleOf(group))}`,
    explanation,
    operands: [operand],
    options: IF_MATCH,
    settings: DATA_SETTINGS,
    json: false,
    run: (invocation) =>
      withData(invocation, async (composed) => {
        const named = invocation.operand(operand.name);
        await administration(composed).remove((await id?.(composed, named)) ?? named, acting(invocation));
        return 0;
      }),
  };
}

const IF_MATCH: Readonly<Record<string, Option>> = {
  'if-match': { value: '<etag>', description: 'Only if the API still answers it with this ETag' },
};

/** The command line, with the tag that it was given; a shell may have taken its quotes away. */
function acting({ command, text }: Invocation): Acting {
  const given = text('if-match');
  if (given === undefined || given === '*') return { ...COMMAND_LINE, ifMatch: given };
  const tags = parseEntityTags(given) ?? parseEntityTags(`"${given}"`);
  if (tags === null) throw new UsageError('--if-match must be an ETag as the API answers it', command.name);
  return { ...COMMAND_LINE, ifMatch: tags };
}

/** As people call it: `event type`. */
function titleOf(group: string): string {
  return group.replace('-', ' ');
}

/** No group begins with a u that is spoken as a vowel. */
function withArticle(noun: string): string {
  return `${/^[aeio]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
