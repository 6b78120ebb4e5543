/** The dependencies of pages: the use cases, the store, and the observers of the service. */
import type { Throttle } from '../access/throttle.ts';
import type { Config } from '../config/config.ts';
import type { Dispatcher } from '../delivery/dispatcher.ts';
import type { TestOauth } from '../delivery/oauth.ts';
import type { TestDelivery } from '../delivery/test-delivery.ts';
import type { Clock, Ids, Random } from '../kernel/ids.ts';
import type { Vault } from '../kernel/vault.ts';
import type { AttemptFeed } from '../observe/attempt-feed.ts';
import type { FigureKeeper } from '../observe/figures.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Services } from '../services.ts';
import type { SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';
import type { Store } from '../store/store.ts';
import type { Pages } from './page.ts';
import type { Results } from './results.ts';

export type PortalDependencies = {
  readonly services: Services;
  readonly store: Store;
  readonly db: SqliteDatabase;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly figures: FigureKeeper;
  readonly feed: AttemptFeed;
  readonly dispatcher: Dispatcher;
  readonly testDelivery: TestDelivery;
  readonly testOauth: TestOauth;
  /** Of sign-ins. */
  readonly throttle: Throttle;
  readonly config: Config;
  /** The URL that clients use; null if unknown. */
  readonly publicUrl: () => string | null;
};

/** The dependencies of every file with pages. */
export type PageDependencies = PortalDependencies & {
  readonly pages: Pages;
  readonly results: Results;
  /** Whether the portal has a page at this path, as registered (`/endpoints/{id}`). Links to other paths are omitted. */
  hasPage(path: string): boolean;
};
