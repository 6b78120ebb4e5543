/** Finds programs that tests run and npm does not install. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The program's file, or null if no folder in PATH has it. */
export function onPath(program: string): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file)) ?? null;
}
