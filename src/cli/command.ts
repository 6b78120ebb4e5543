/** Commands as data, and how their arguments are parsed. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { Config } from '../config/config.ts';
import { SETTINGS, type SettingName } from '../config/names.ts';
import { didYouMean } from '../kernel/nearest.ts';
import { notAChoice, UsageError } from './errors.ts';
import type { Terminal } from './terminal.ts';

/** 0 done, 1 failed. For 2, wrong usage or settings, commands throw `UsageError` (contract §6.1). */
export type ExitCode = 0 | 1;

/** An argument. `field`: the field of the API that it sets, if any. */
export type Operand = { readonly name: string; readonly description: string; readonly field?: string };

/** An option. `value` is how help shows its value; an option without `value` is a switch. */
export type Option = {
  readonly description: string;
  readonly value?: string;
  /** The value must be a whole number. */
  readonly integer?: true;
  /** The value is a JSON object, or `@` and a file with one, or `-` for standard input. */
  readonly object?: true;
  readonly many?: true;
  readonly required?: true;
  /** The field of the API that it sets, such as `limits.endpoints`. Default: the option's name in camel case. Null: none. */
  readonly field?: string | null;
  /** The value that a switch gives to its field. Default: true. */
  readonly sets?: string | boolean;
  /** The only words that are valid. */
  readonly choices?: readonly string[];
};

/** The option that takes further fields of the API as JSON. */
export const FIELDS_OPTION = 'fields';

/** The field of the API that an option sets; null if it sets none. */
export function apiField(name: string, { field }: Option): string | null {
  return field === undefined ? name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()) : field;
}

export type Command = {
  /** The words after `sallyport`: `application create`. */
  readonly name: string;
  readonly summary: string;
  /** Further text in the help. */
  readonly explanation?: string;
  /** Command lines for the help. */
  readonly examples: readonly string[];
  readonly operands?: readonly Operand[];
  readonly options?: Readonly<Record<string, Option>>;
  /** Settings that the command also accepts as flags. */
  readonly settings?: readonly SettingName[];
  /** Whether it prints data, and so accepts `--json`. */
  readonly json: boolean;
  run(invocation: Invocation): Promise<ExitCode>;
};

/** The commands of one file. */
export type CommandGroup = readonly Command[];

export type GroupEntry = {
  readonly name: string;
  readonly summary: string;
  load(): Promise<CommandGroup>;
};

/** The parsed arguments of a command. Only names that the command declares. */
export type Invocation = {
  readonly command: Command;
  readonly terminal: Terminal;
  readonly json: boolean;
  operand(name: string): string;
  text(option: string): string | undefined;
  texts(option: string): readonly string[];
  given(option: string): boolean;
  /** The options and arguments on the command line. */
  readonly provided: ReadonlySet<string>;
  /** The value of an option with `integer`. */
  integer(option: string): number | undefined;
  /** Throws `ConfigurationError`. */
  config(): Promise<Config>;
};

/** The options of a command, with its settings, `--json` and `--help`. */
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

/** Parses the arguments after the name of a command. Returns null for `--help`. Throws `UsageError`. */
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
    provided: new Set([...Object.keys(values), ...operands.map(({ name }) => name)]),
    integer: (option) => (text(option) === undefined ? undefined : Number(text(option))),
    config: async () => {
      const { readConfig } = await import('../config/config.ts');
      const flags = settings.map((name) => SETTINGS[name].flag).map((flag) => [flag, text(flag)]);
      return readConfig(terminal.env, Object.fromEntries(flags));
    },
  };
}

function problemOf(
  { values, positionals }: Parsed,
  options: Readonly<Record<string, Option>>,
  operands: readonly Operand[],
): string | null {
  for (const [name, { required, integer, choices }] of Object.entries(options)) {
    const value = values[name];
    if (required === true && value === undefined) return `--${name} is required`;
    if (integer === true && value !== undefined && !/^\d{1,15}$/.test(String(value))) {
      return `--${name} must be a whole number`;
    }
    const wrong =
      choices === undefined ? undefined : [value ?? []].flat().find((word) => !choices.includes(String(word)));
    if (choices !== undefined && wrong !== undefined) return `--${name} ${notAChoice(String(wrong), choices)}`;
  }
  const extra = positionals[operands.length];
  if (extra !== undefined) return `Unexpected argument ${JSON.stringify(extra)}`;
  const absent = operands[positionals.length];
  return absent === undefined ? null : `Missing argument <${absent.name}>`;
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
    // Node reports a value that starts with a dash as ambiguous, because it may be the next option.
    const { message } = error as Error;
    const [, option, dashed] = /--([\w-]+)(?: <value>)?' argument (?:missing|is (ambiguous))/.exec(message) ?? [];
    if (option !== undefined) {
      const advice = dashed === undefined ? '' : `. Write a value that starts with a dash as --${option}=<value>`;
      throw new UsageError(`--${option} needs a value${advice}`, topic);
    }
    const [, unknown] = /^Unknown option '(-[^']*)'/.exec(message) ?? [];
    if (unknown !== undefined) {
      const known = Object.keys(options).map((name) => `--${name}`);
      throw new UsageError(`Unknown option ${unknown}${didYouMean(unknown, known)}`, topic);
    }
    // Only the first sentence: Node then explains how to pass such an argument as an operand.
    const [sentence = ''] = message.split(/\.\s/, 1);
    throw new UsageError(sentence.replace(/\.$/, ''), topic);
  }
}
