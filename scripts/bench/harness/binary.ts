/** The single binary, as it is installed: what starting and memory are measured of. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { output } from './processes.ts';

const BUILD = fileURLToPath(new URL('../../build-binary.ts', import.meta.url));

/** Builds it in a folder; answers its path. */
export async function buildBinary(folder: string): Promise<string> {
  const path = join(folder, 'sallyport');
  await output(process.execPath, ['--disable-warning=ExperimentalWarning', BUILD, path]);
  return path;
}
