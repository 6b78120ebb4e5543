/** The files beside the code that the program reads at run time: the one place that knows where they are. */
import { readFileSync } from 'node:fs';

export type AssetName = 'schema.sql';

/** The text of an asset. */
export function readAsset(name: AssetName): string {
  return readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
}
