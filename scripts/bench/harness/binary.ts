/** The single binary, as it is installed: what starting and memory are measured of. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { output } from './processes.ts';

const BUILD = fileURLToPath(new URL('../../build-binary.ts', import.meta.url));
const UNIT = new URL('../../../docs/examples/sallyport.service', import.meta.url);

/** Builds it in a folder; answers its path. */
export async function buildBinary(folder: string): Promise<string> {
  const path = join(folder, 'sallyport');
  await output(process.execPath, ['--disable-warning=ExperimentalWarning', BUILD, path]);
  return path;
}

/** The settings of the C library in the systemd unit of the examples. */
export function unitEnvironment(): Record<string, string> {
  const assignments = readFileSync(UNIT, 'utf8').match(/\bMALLOC_\w+=\d+/g) ?? [];
  return Object.fromEntries(assignments.map((assignment) => assignment.split('=') as [string, string]));
}
