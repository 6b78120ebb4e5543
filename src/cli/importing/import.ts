/** `import`: makes customers, endpoints, webhooks and event types of another sender's export. */

import { HEADER_NAME } from '../../domain/endpoint-headers.ts';
import { SCHEDULE_DELAY_MAX_SECONDS, SCHEDULE_DELAYS_MAX } from '../../domain/retry.ts';
import type { ImportRow } from '../../importing/carry-out.ts';
import type { ImportOptions } from '../../importing/export-reader.ts';
import { importPlan } from '../../importing/import.ts';
import type { Plan } from '../../importing/import-plan.ts';
import { readOutpost } from '../../importing/outpost.ts';
import { readSvix } from '../../importing/svix.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Composed } from '../../services/compose.ts';
import type { Command, CommandGroup, ExitCode, Invocation, Operand, Option } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { readJsonFile } from '../input.ts';
import { dataCommand, OUTBOUND_SETTINGS } from '../open.ts';
import { importText, rowCounts } from './report.ts';

/** The most bytes of an export. */
const EXPORT_BYTES: number = 64 * 1024 * 1024;

const FILE: Operand = { name: 'file', description: 'The export as JSON; - reads standard input' };

const CHANNELS_DEFAULT = 'data.channels';

const OPTIONS: Readonly<Record<string, Option>> = {
  apply: { description: 'Make it. Without this option nothing is changed' },
  start: { description: 'Also start the webhooks of enabled endpoints, those of an earlier import too' },
  'skip-refused': { description: 'Make the rest if something is refused; otherwise nothing is made then' },
  rename: {
    value: '<old=new>',
    many: true,
    description: 'A new name for an event type, such as UserCreated=user.created',
  },
  'header-prefix': {
    value: '<prefix>',
    description: "What the names of its headers begin with; webhook- is Standard Webhooks'",
  },
  'retry-delays': { value: '<seconds,…>', description: 'The waits between attempts (default: its own default)' },
};

const SVIX_OPTIONS: Readonly<Record<string, Option>> = {
  'channels-at': {
    value: '<path>',
    description: `Where events have their channels: subject, or the path of a list (default: ${CHANNELS_DEFAULT})`,
  },
  'without-schemas': { description: 'Leave out the JSON Schemas of event types' },
};

const EXPLANATION =
  'Shows what it would make, what exists already, what it refuses, and what it cannot keep. --apply makes it,\n' +
  'and another run makes nothing twice. Endpoints keep their secrets and need no challenge. Their webhooks\n' +
  'stay stopped and keep their events until --start.';

export const importCommands: CommandGroup = [
  importCommand({
    name: 'import svix',
    summary: 'Import applications, endpoints and event types of Svix',
    examples: ['sallyport import svix svix.json', 'sallyport import svix svix.json --apply'],
    explanation: `${EXPLANATION}\nThe export: docs/how-to/move-from-svix.md.`,
    options: { ...OPTIONS, ...SVIX_OPTIONS },
    read: readSvix,
  }),
  importCommand({
    name: 'import outpost',
    summary: 'Import tenants, destinations and topics of Outpost',
    examples: ['sallyport import outpost outpost.json', 'sallyport import outpost outpost.json --apply'],
    explanation: `${EXPLANATION}\nThe export: docs/how-to/move-from-outpost.md.`,
    options: OPTIONS,
    read: readOutpost,
  }),
];

function importCommand({
  read,
  ...described
}: Omit<Command, 'run' | 'json' | 'operands' | 'settings'> & {
  read(given: unknown, options: ImportOptions): Plan;
}): Command {
  return dataCommand({
    ...described,
    operands: [FILE],
    settings: OUTBOUND_SETTINGS,
    check: optionsOf,
    run: async (composed, invocation) => {
      const name = invocation.operand('file');
      const given = await readJsonFile(invocation, name, EXPORT_BYTES);
      const plan = planOf(name, () => read(given, optionsOf(invocation)));
      return runImport(invocation, plan, composed);
    },
  });
}

/** Throws a `CommandError` that names the file and the place in it. */
function planOf(name: string, read: () => Plan): Plan {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new CommandError(`${name === '-' ? 'standard input' : name}: ${error.message}`, { cause: error });
  }
}

async function runImport(invocation: Invocation, plan: Plan, composed: Composed): Promise<ExitCode> {
  const { terminal, json, given } = invocation;
  const [apply, skipRefused] = [given('apply'), given('skip-refused')];
  const print = (rows: readonly ImportRow[], applied: boolean): Promise<boolean> =>
    terminal.out(
      json
        ? `${JSON.stringify({ applied, ...rowCounts(rows), rows })}\n`
        : importText(rows, { applied, asked: apply, width: terminal.width }),
    );
  const done: ImportRow[] = [];
  const run = { apply, skipRefused, start: given('start'), onRow: (row: ImportRow) => void done.push(row) };
  try {
    const { rows, applied } = await importPlan(plan, composed.services, composed, run);
    await print(rows, applied);
    return rows.some(({ reason }) => reason !== null) && !skipRefused ? 1 : 0;
  } catch (error) {
    // Another run continues from here.
    if (done.length > 0) await print(done, true);
    throw error;
  }
}

/** Throws `UsageError`. */
function optionsOf(invocation: Invocation): ImportOptions {
  const { command, text, texts, given } = invocation;
  const refuse = (option: string, problem: string): UsageError =>
    new UsageError(`--${option} ${problem}`, command.name);
  const renamed = new Map<string, string>();
  for (const pair of texts('rename')) {
    const [, from, to] = /^([^=]+)=([^=]+)$/.exec(pair) ?? [];
    if (from === undefined || to === undefined) throw refuse('rename', 'must be <old>=<new>');
    renamed.set(from, to);
  }
  const headerPrefix = text('header-prefix') ?? null;
  if (headerPrefix !== null && !HEADER_NAME.test(headerPrefix))
    throw refuse('header-prefix', 'must be the beginning of a header name');
  const channelsAt = text('channels-at') ?? CHANNELS_DEFAULT;
  if (!/^(?:subject|data(?:\.[^.\s$]+)+)$/.test(channelsAt))
    throw refuse('channels-at', 'must be subject or a path such as data.channels');
  const delays =
    text('retry-delays')
      ?.split(',')
      .map((one) => (/^\d{1,6}$/.test(one.trim()) ? Number(one) : 0)) ?? null;
  if (
    delays?.some((delay) => delay < 1 || delay > SCHEDULE_DELAY_MAX_SECONDS) === true ||
    (delays?.length ?? 1) > SCHEDULE_DELAYS_MAX
  )
    throw refuse('retry-delays', `must be 1 to ${SCHEDULE_DELAYS_MAX} numbers from 1 to ${SCHEDULE_DELAY_MAX_SECONDS}`);
  return { renamed, headerPrefix, channelsAt, retryDelaysSeconds: delays, withoutSchemas: given('without-schemas') };
}
