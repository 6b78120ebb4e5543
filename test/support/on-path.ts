/** Finds programs that tests run and npm does not install. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The program's file, or null. Looks in PATH and where Debian installs servers, which is not on every PATH. */
export function onPath(program: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'].filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file)) ?? null;
}
