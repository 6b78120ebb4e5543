/** What a command is, and how its arguments become what it is called with. */

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { Config } from '../config/config.ts';
import { SETTINGS, type SettingName } from '../config/names.ts';
import { UsageError } from './errors.ts';
import type { Terminal } from './terminal.ts';

/** 0 done, 1 failed; 2, wrong usage or settings, is thrown as `UsageError` (contract §6). */
export type ExitCode = 0 | 1;

export type Operand = { readonly name: string; readonly description: string };

/** An option; without `value`, which is how help shows what it takes, it is a switch. */
export type Option = {
  readonly description: string;
  readonly value?: string;
  /** Takes a whole number. */
  readonly integer?: true;
  readonly many?: true;
  readonly required?: true;
};

export type Command = {
  /** The words after `sallyport`: `application create`. */
  readonly name: string;
  readonly summary: string;
  /** What help says beyond the summary. */
  readonly explanation?: string;
  readonly operands?: readonly Operand[];
  readonly options?: Readonly<Record<string, Option>>;
  /** The settings that it takes as flags too. */
  readonly settings?: readonly SettingName[];
  /** Prints data, so that it has `--json`. */
  readonly json: boolean;
  run(invocation: Invocation): Promise<ExitCode>;
};

/** The commands of one file. */
export type CommandGroup = readonly Command[];

/** A command's arguments as given. The names are those that the command declared. */
export type Invocation = {
  readonly command: Command;
  readonly terminal: Terminal;
  readonly json: boolean;
  operand(name: string): string;
  text(option: string): string | undefined;
  texts(option: string): readonly string[];
  given(option: string): boolean;
  /** The number that an option with `integer` was given. */
  integer(option: string): number | undefined;
  /** Throws `ConfigurationError`. */
  config(): Promise<Config>;
};

/** The options of a command with those that come by themselves: settings, `--json`, `--help`. */
export function allOptions({ options = {}, settings = [], json }: Command): Readonly<Record<string, Option>> {
  const flags = settings.map((name): [string, Option] => {
    const { flag, variable, value, description } = SETTINGS[name];
    return [flag, { value, description: `${description} [${variable}]` }];
  });
  return {
    ...options,
    ...(json ? { json: { description: 'Print JSON' } } : {}),
    ...Object.fromEntries(flags),
    help: { description: 'Show this help' },
  };
}

/** Reads the arguments that follow a command's name. Throws `UsageError`; null means that `--help` was asked for. */
export function parseInvocation(command: Command, args: readonly string[], terminal: Terminal): Invocation | null {
  const { name: topic, operands = [], settings = [] } = command;
  const options = allOptions(command);
  const { values, positionals } = parse(topic, options, args);
  if (values.help === true) return null;

  const problem = problemOf({ values, positionals }, options, operands);
  if (problem !== null) throw new UsageError(problem, topic);

  const text = (option: string): string | undefined => values[option] as string | undefined;
  return {
    command,
    terminal,
    json: values.json === true,
    operand: (name) => positionals[operands.findIndex((operand) => operand.name === name)] as string,
    text,
    texts: (option) => (values[option] as string[] | undefined) ?? [],
    given: (option) => values[option] === true,
    integer: (option) => (text(option) === undefined ? undefined : Number(text(option))),
    config: async () => {
      const { readConfig } = await import('../config/config.ts');
      const flags = settings.map((name) => SETTINGS[name].flag).map((flag) => [flag, text(flag)]);
      return readConfig(terminal.env, Object.fromEntries(flags));
    },
  };
}

/** What the options and operands lack, or have too much of. */
function problemOf(
  { values, positionals }: Parsed,
  options: Readonly<Record<string, Option>>,
  operands: readonly Operand[],
): string | null {
  for (const [name, { required, integer }] of Object.entries(options)) {
    const value = values[name];
    if (required === true && value === undefined) return `--${name} is required`;
    if (integer === true && value !== undefined && !/^\d{1,15}$/.test(String(value))) {
      return `--${name} must be a whole number`;
    }
  }
  const extra = positionals[operands.length];
  if (extra !== undefined) return `${JSON.stringify(extra)} is one argument too many`;
  const absent = operands[positionals.length];
  return absent === undefined ? null : `<${absent.name}> is missing`;
}

type Parsed = {
  readonly values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;
  readonly positionals: readonly string[];
};

function parse(topic: string, options: Readonly<Record<string, Option>>, args: readonly string[]): Parsed {
  const described: ParseArgsOptionsConfig = {};
  for (const [name, { value, many = false }] of Object.entries(options)) {
    described[name] = { type: value === undefined ? 'boolean' : 'string', multiple: many };
  }
  described.help = { type: 'boolean', short: 'h' };
  try {
    return parseArgs({ args: [...args], options: described, allowPositionals: true, strict: true });
  } catch (error) {
    // It may be followed by what looks like the next option: Node calls that ambiguous.
    const { message } = error as Error;
    const [, option, dashed] = /--([\w-]+)(?: <value>)?' argument (?:missing|is (ambiguous))/.exec(message) ?? [];
    if (option !== undefined) {
      const advice = dashed === undefined ? '' : `; one that begins with a dash is written --${option}=<value>`;
      throw new UsageError(`--${option} needs a value${advice}`, topic);
    }
    // Node goes on to explain how to pass such an argument as an operand.
    const [sentence = ''] = message.split(/\.\s/, 1);
    throw new UsageError(sentence.replace(/\.$/, ''), topic);
  }
}
