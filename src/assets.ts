/** The files beside the code that the program reads at run time: the one place that knows where they are. */
import { readFileSync } from 'node:fs';

/** Where each is, from the root of the project; the single binary has them inside, by name. */
export const ASSETS = { 'schema.sql': 'schema.sql' } as const;

export type AssetName = keyof typeof ASSETS;

/** The text of an asset. */
export function readAsset(name: AssetName): string {
  const sea = process.getBuiltinModule('node:sea') as typeof import('node:sea') | undefined;
  if (sea?.isSea() === true) return sea.getAsset(name, 'utf8');
  return readFileSync(new URL(`../${ASSETS[name]}`, import.meta.url), 'utf8');
}
