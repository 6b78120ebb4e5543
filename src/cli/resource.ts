/** The commands that every configured thing has: it is listed, shown, changed by a merge patch, and removed where nothing refers to it. */
import type { Administration } from '../administration.ts';
import { COMMAND_LINE } from '../audit.ts';
import type { Composed } from '../compose.ts';
import type { SettingName } from '../config-names.ts';
import type { Command, Invocation, Operand } from './command.ts';
import { PAGE_OPTIONS, readJsonObject, readPageOptions } from './input.ts';
import { DATA_SETTINGS, withData } from './open.ts';
import { printPage, printRecord } from './output.ts';

type Configured<T> = {
  /** The group, which is what the thing is called, and where its fields are described: `webhook`, `webhooks`. */
  readonly group: string;
  readonly path: string;
  readonly operand: Operand;
  administration(composed: Composed): Pick<Administration<T>, 'get' | 'patch' | 'remove'>;
  /** The id that the operand stands for; itself where absent. */
  id?(composed: Composed, operand: string): Promise<string>;
  view(record: T, composed: Composed, invocation: Invocation): Readonly<Record<string, unknown>>;
  /** What a change needs besides the data folder. */
  readonly updateSettings?: readonly SettingName[];
  /** What help says of a change, beyond what is the same for all. */
  readonly updateExplanation?: string;
};

type Listed<T> = {
  readonly name: string;
  readonly summary: string;
  /** What people see of each. */
  readonly columns: readonly string[];
  administration(composed: Composed): Pick<Administration<T>, 'list'>;
  view(record: T, composed: Composed, invocation: Invocation): Readonly<Record<string, unknown>>;
};

export function listCommand<T extends { readonly id: string }>(listed: Listed<T>): Command {
  const { name, summary, columns, administration, view } = listed;
  return {
    name,
    summary,
    options: PAGE_OPTIONS,
    settings: DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async (composed) => {
        const { limit, cursor } = readPageOptions(invocation);
        // One more than asked for shows whether there is a next page.
        const found = await administration(composed).list(cursor ?? '', limit + 1);
        const shown = found.slice(0, limit);
        const nextCursor = found.length > limit ? (shown.at(-1)?.id ?? null) : null;
        const items = shown.map((record) => view(record, composed, invocation));
        await printPage(invocation, { items, nextCursor }, columns);
        return 0;
      }),
  };
}

export function showCommand<T>({ group, operand, administration, id, view }: Configured<T>): Command {
  return {
    name: `${group} show`,
    summary: `Show one ${group}`,
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

export function updateCommand<T>(configured: Configured<T>): Command {
  const { group, path, operand, administration, id, view, updateSettings, updateExplanation } = configured;
  const more = updateExplanation === undefined ? '' : `\n${updateExplanation}`;
  return {
    name: `${group} update`,
    summary: `Change ${article(group)} ${group}`,
    explanation: `--fields names what changes, as PATCH /services/api/x/edge/v1/${path}/{id} takes it: the rest stays, and null takes a value away.${more}`,
    operands: [operand],
    options: {
      fields: { value: '<json|@file|->', required: true, description: 'What to change, as a JSON object' },
    },
    settings: updateSettings ?? DATA_SETTINGS,
    json: true,
    run: (invocation) =>
      withData(invocation, async (composed) => {
        const patch = await readJsonObject(invocation, 'fields');
        const named = invocation.operand(operand.name);
        const record = await administration(composed).patch(
          (await id?.(composed, named)) ?? named,
          patch,
          COMMAND_LINE,
        );
        await printRecord(invocation, view(record, composed, invocation));
        return 0;
      }),
  };
}

export function removeCommand<T>({ group, operand, administration, id }: Configured<T>, explanation: string): Command {
  return {
    name: `${group} remove`,
    summary: `Remove ${article(group)} ${group}`,
    explanation,
    operands: [operand],
    settings: DATA_SETTINGS,
    json: false,
    run: (invocation) =>
      withData(invocation, async (composed) => {
        const named = invocation.operand(operand.name);
        await administration(composed).remove((await id?.(composed, named)) ?? named, COMMAND_LINE);
        return 0;
      }),
  };
}

function article(noun: string): string {
  return /^[aeiou]/.test(noun) ? 'an' : 'a';
}
