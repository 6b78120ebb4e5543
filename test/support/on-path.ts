/** Where the programs are that tests call and that are no packages of npm. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The program's file, or null where no folder of the path has it. */
export function onPath(program: string): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file)) ?? null;
}
