/** Commands about the command line itself: its version, and scripts with which a shell completes its commands and options. */
import { VERSION } from '../kernel/version.ts';
import { allOptions, type Command, type CommandGroup, type GroupEntry } from './command.ts';
import { notAChoice, UsageError } from './errors.ts';

export const versionCommands: CommandGroup = [
  {
    name: 'version',
    summary: 'Print the version',
    examples: ['sallyport version'],
    json: true,
    run: async ({ terminal, json }) => {
      await terminal.out(json ? `${JSON.stringify({ version: VERSION })}\n` : `${VERSION}\n`);
      return 0;
    },
  },
];

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** The scripts are made from the declarations of the commands of `groups`. */
export function completionCommands(groups: readonly GroupEntry[]): CommandGroup {
  return [
    {
      name: 'completion',
      summary: 'Print the completion script of a shell',
      examples: ['sallyport completion bash > ~/.local/share/bash-completion/completions/sallyport'],
      explanation: `To use it in every new shell:
  bash: sallyport completion bash > ~/.local/share/bash-completion/completions/sallyport
  zsh:  add to ~/.zshrc: source <(sallyport completion zsh)
  fish: sallyport completion fish > ~/.config/fish/completions/sallyport.fish`,
      operands: [{ name: 'shell', description: Object.keys(SHELLS).join(', ') }],
      json: false,
      run: async ({ command, operand, terminal }) => {
        const shell = operand('shell');
        if (!Object.hasOwn(SHELLS, shell)) {
          throw new UsageError(`<shell> ${notAChoice(shell, Object.keys(SHELLS))}`, command.name);
        }
        const loaded = await Promise.all(groups.map(async (group) => ({ ...group, commands: await group.load() })));
        await terminal.out(SHELLS[shell as keyof typeof SHELLS](loaded));
        return 0;
      },
    },
  ];
}

type Loaded = Omit<GroupEntry, 'load'> & { readonly commands: CommandGroup };

function bashScript(groups: readonly Loaded[]): string {
  const cases = groups.flatMap(({ name, commands }) => {
    const own = commands.find((command) => command.name === name);
    const others = commands.filter((command) => command !== own);
    const words = [...others.map(lastWord), ...(own === undefined ? [] : flagsOf(own))];
    return [
      ...others.map((command) => `    '${command.name}'*) choices='${flagsOf(command).join(' ')}' ;;`),
      `    '${name}'${own === undefined ? '' : '*'}) choices='${words.join(' ')}' ;;`,
    ];
  });
  return `_sallyport() {
  local at line= choices=
  for ((at = 1; at < COMP_CWORD; at++)); do line+="\${line:+ }\${COMP_WORDS[at]}"; done
  case "$line" in
    '') choices='${groups.map(({ name }) => name).join(' ')}' ;;
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _sallyport sallyport
`;
}

function zshScript(groups: readonly Loaded[]): string {
  const load = 'autoload -Uz compinit bashcompinit && compinit -u && bashcompinit';
  return `(( \${+functions[complete]} )) || { ${load} }\n${bashScript(groups)}`;
}

function fishScript(groups: readonly Loaded[]): string {
  const lines = groups.flatMap(({ name, summary, commands }) => {
    const own = commands.find((command) => command.name === name);
    const others = commands.filter((command) => command !== own);
    const seen = `__fish_seen_subcommand_from ${name}`;
    const first =
      others.length === 0 ? seen : `${seen}; and not __fish_seen_subcommand_from ${others.map(lastWord).join(' ')}`;
    return [
      `complete -c sallyport -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...others.map(
        (command) => `complete -c sallyport -f -n '${first}' -a ${lastWord(command)} -d ${quoted(command.summary)}`,
      ),
      ...(own === undefined ? [] : fishOptions(own, first)),
      ...others.flatMap((command) =>
        fishOptions(command, `${seen}; and __fish_seen_subcommand_from ${lastWord(command)}`),
      ),
    ];
  });
  return `${lines.join('\n')}\n`;
}

function fishOptions(command: Command, condition: string): string[] {
  return Object.entries(allOptions(command)).map(
    ([name, { value, description }]) =>
      `complete -c sallyport -n '${condition}' -l ${name}${value === undefined ? '' : ' -r'} -d ${quoted(description)}`,
  );
}

function flagsOf(command: Command): string[] {
  return Object.keys(allOptions(command)).map((name) => `--${name}`);
}

function lastWord({ name }: Command): string {
  return name.split(' ').at(-1) ?? '';
}

/** For fish: within single quotes only these two need an escape. */
function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}
