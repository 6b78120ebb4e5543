/** Finds the command that the arguments name, runs it, and reports errors. */

import { didYouMean } from '../kernel/nearest.ts';
import { Refusal, saidAt } from '../kernel/refusal.ts';
import { standardError } from '../observe/log-destination.ts';
import { type Command, type CommandGroup, type GroupEntry, type Invocation, parseInvocation } from './command.ts';
import { CommandError, UsageError } from './errors.ts';
import { GROUPS } from './groups.ts';
import { commandHelp, groupHelp, overviewHelp } from './help.ts';
import type { Terminal } from './terminal.ts';
import { refusalText } from './text/refusal-text.ts';

/** Runs `sallyport <words…>`. Returns the exit status: 0 done, 1 failed, 2 wrong usage or settings (contract §6.1). */
export async function run(words: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await dispatch(words, terminal);
  } catch (error) {
    // The reason why a service did not start must be the last line, below the log.
    await standardError.drained();
    return await explain(error, terminal);
  }
}

async function dispatch(words: readonly string[], terminal: Terminal): Promise<number> {
  const [first, ...rest] = words;
  if (first === undefined) {
    await terminal.err(overviewHelp(GROUPS));
    return 2;
  }
  if (first === '--help' || first === '-h' || (first === 'help' && rest.length === 0)) {
    await terminal.out(overviewHelp(GROUPS));
    return 0;
  }
  if (first === 'help') return dispatch([...rest, '--help'], terminal);
  if (first === '--version' || first === '-v') return dispatch(['version', ...rest], terminal);

  const group = GROUPS.find(({ name }) => name === first);
  if (group === undefined)
    throw unknownCommand(
      first,
      GROUPS.map(({ name }) => name),
    );
  const commands = await group.load();
  const command = commandOf(commands, words);
  if (command === undefined) return groupAlone(group, commands, rest[0], terminal);
  const invocation = parseInvocation(command, words.slice(command.name.split(' ').length), terminal);
  if (invocation !== null) return runCommand(command, invocation);
  const others = command.name === group.name ? commands.filter((other) => other !== command) : [];
  await terminal.out(commandHelp(command, others));
  return 0;
}

/** A refused field is the option or argument that set it. */
async function runCommand(command: Command, invocation: Invocation): Promise<number> {
  try {
    return await command.run(invocation);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new CommandError(refusalText(saidAt('command', error), command, invocation.provided), { cause: error });
  }
}

function commandOf(commands: CommandGroup, [first, second]: readonly string[]): Command | undefined {
  return commands.find(({ name }) => name === first || name === `${first} ${second}`);
}

/** Handles a group without one of its commands. */
async function groupAlone(
  group: GroupEntry,
  commands: CommandGroup,
  word: string | undefined,
  terminal: Terminal,
): Promise<number> {
  if (word === '--help' || word === '-h') {
    await terminal.out(groupHelp(group, commands));
    return 0;
  }
  const names = commands.map(({ name }) => name.slice(group.name.length + 1));
  if (word === undefined) throw new UsageError(`Missing command. Use one of: ${names.join(', ')}`, group.name);
  throw unknownCommand(word, names, group.name);
}

/** Words of other command lines, with the words that Sallyport has for them. */
const SYNONYMS: Readonly<Record<string, string>> = {
  add: 'create',
  new: 'create',
  get: 'show',
  describe: 'show',
  ls: 'list',
  edit: 'update',
  set: 'update',
  remove: 'delete',
  rm: 'delete',
  retry: 'replay',
  resend: 'replay',
};

/** Suggests the nearest name, or else lists the commands of the group. */
function unknownCommand(word: string, names: readonly string[], group = ''): UsageError {
  const others = group === '' ? '' : `. Use one of: ${names.join(', ')}`;
  const synonym = SYNONYMS[word] ?? '';
  // An option before the command is no misspelt command.
  const near = group === '' && word.startsWith('-') ? ['--help', '--version'] : names;
  const advice = didYouMean(names.includes(synonym) ? synonym : word, near) || others;
  return new UsageError(`Unknown command ${JSON.stringify(word)}${advice}`, group);
}

/** Expected errors, by name: importing their classes would load their modules. */
const EXPECTED: ReadonlySet<string> = new Set(['CommandError', 'DataFolderError', 'DatabaseUnavailable']);

async function explain(error: unknown, terminal: Terminal): Promise<number> {
  if (error instanceof UsageError) {
    const topic = error.topic === '' ? '' : ` ${error.topic}`;
    await terminal.err(`sallyport${topic}: ${error.message}\nSee: ${terminal.program()}${topic} --help\n`);
    return 2;
  }
  if (error instanceof Error && error.name === 'ConfigurationError') {
    await terminal.err(`sallyport: ${error.message}\n`);
    return 2;
  }
  if (error instanceof Error && EXPECTED.has(error.name)) {
    await terminal.err(`sallyport: ${error.message}\n`);
    return 1;
  }
  const fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
  await terminal.err(`sallyport: internal error: ${fault}\n`);
  return 1;
}
