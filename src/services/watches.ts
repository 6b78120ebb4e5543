/** The watches of a running server, and its reports to other processes. */
import type { Config } from '../config/config.ts';
import { type Announcement, announceServer } from '../data/announcements.ts';
import { watchStorage } from '../housekeeping/storage-watch.ts';
import type { Log } from '../kernel/log.ts';
import type { Composed } from './compose.ts';

/** Delay before a change of the catalogue by another process takes effect. */
const CATALOGUE_WATCH_MS = 1000;

type WatchOptions = {
  readonly config: Config;
  readonly log: Log;
  readonly knownAddress: () => string | null;
};

/** Watches the disk and the API catalogue, and gives its settings to commands beside this server. */
export function createWatches(
  { services, storage, dataDir, vault }: Composed,
  { config, log, knownAddress }: WatchOptions,
): { start(): void; end(): void } {
  let catalogueWatch: NodeJS.Timeout | null = null;
  let endStorageWatch = (): void => {};
  let announcement: Announcement | null = null;
  return {
    start: () => {
      endStorageWatch = watchStorage({ ...storage, dataDir, log });
      try {
        if (storage.hasOneServer) announcement = announceServer(config, knownAddress(), vault);
      } catch (err) {
        log.warn({ err }, 'the settings could not be written for commands beside this server; they use their own');
      }
      catalogueWatch = setInterval(() => {
        services.products
          .refreshIfChanged()
          .catch((error: unknown) => log.error({ err: error }, 'the API catalogue could not be read'));
      }, CATALOGUE_WATCH_MS);
    },
    end: () => {
      if (catalogueWatch !== null) clearInterval(catalogueWatch);
      endStorageWatch();
      announcement?.end();
    },
  };
}
