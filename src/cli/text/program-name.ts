/** How a person in a shell calls this program, for commands that it prints. */
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join, relative, resolve } from 'node:path';
import type { Config } from '../../config/names.ts';
import { checkoutScript } from '../../kernel/assets.ts';

const NAME = 'sallyport';

/** The option that leads a command from another shell in this folder to the data; empty if it is there by default. */
export function dataOption({ dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>, cwd: string): string {
  return databaseUrl !== null || dataDir === resolve(cwd, 'data') ? '' : ` --data ${quoted(dataDir)}`;
}

/** `sallyport` if the path has it, in a checkout else the path of its script. `cwd`: the working directory. */
export function programName(env: Readonly<Record<string, string | undefined>>, cwd: string): string {
  if ((env.PATH ?? '').split(delimiter).some((folder) => folder !== '' && isExecutable(join(folder, NAME))))
    return NAME;
  const script = checkoutScript();
  if (script === null || !isExecutable(script)) return NAME;
  const near = relative(realpathSync(cwd), script);
  return quoted(near.startsWith('..') ? script : near);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A word of a shell command. */
function quoted(word: string): string {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
