/** Opens the data that the settings name. */
import type { Config } from '../config/config.ts';
import type { Data } from './data.ts';
import { type Opening, openFolder } from './data-folder.ts';

/**
 * Opens the data. `exclusive` is for a process that serves: it creates what is missing and brings an older schema up to date. Without it
 * the data must have had its first start. Throws `DataFolderError`.
 */
export function openData(config: Config, opening: Opening): Promise<Data> {
  return openFolder(config, opening);
}
