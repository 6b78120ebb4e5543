/** The page of commands: the help texts themselves, as `sallyport help` prints them. */
import type { CommandGroup } from '../../src/cli/command.ts';
import type { GroupEntry } from '../../src/cli/groups.ts';
import { commandHelp, overviewHelp } from '../../src/cli/help.ts';

export type LoadedGroup = { readonly group: GroupEntry; readonly commands: CommandGroup };

export function commandLinePage(groups: readonly LoadedGroup[]): string {
  const sections = groups.map(({ group, commands }) => {
    const texts = commands.map((command) => {
      const heading = commands.length === 1 ? '' : `### ${command.name}\n\n`;
      return `${heading}${block(commandHelp(command))}`;
    });
    return [`## ${group.name}\n`, ...texts].join('\n');
  });
  return [
    '# Commands\n',
    'What `sallyport help` says, command by command. Made by `npm run reference`.\n',
    block(overviewHelp(groups.map(({ group }) => group))),
    ...sections,
  ].join('\n');
}

function block(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\`\n`;
}
