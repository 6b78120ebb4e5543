/** The paths of programs that tests call and that npm does not install. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The program's file, or null where no folder of the path has it. */
export function onPath(program: string): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file)) ?? null;
}
