/** The observers of requests and attempts: metrics for Prometheus, figures for charts, and the feed of live pages. */

import type { ObserveSettled } from '../delivery/settle.ts';
import type { TestDelivery } from '../delivery/test-delivery.ts';
import type { ObserveRequest } from '../http/server.ts';
import type { Clock } from '../kernel/ids.ts';
import type { Store } from '../store/store.ts';
import { type AttemptFeed, createAttemptFeed } from './attempt-feed.ts';
import { createFigures, type FigureKeeper } from './figures.ts';
import { createMetrics, type Metrics } from './metrics.ts';

export type Observers = {
  readonly metrics: Metrics;
  readonly figures: FigureKeeper;
  readonly feed: AttemptFeed;
  readonly observeRequest: ObserveRequest;
  /** The number of requests answered so far. */
  readonly answeredRequests: () => number;
  readonly observeSettled: ObserveSettled;
  /** Wraps a test delivery, so that its attempts appear in the feed. */
  observed(testDelivery: TestDelivery): TestDelivery;
};

type Dependencies = { readonly store: Pick<Store, 'queues' | 'figures'>; readonly clock: Clock };

export function createObservers({ store, clock }: Dependencies): Observers {
  const metrics = createMetrics({ queues: store.queues, clock });
  const figures = createFigures({ store: store.figures, clock });
  const feed = createAttemptFeed();
  let answered = 0;
  return {
    metrics,
    figures,
    feed,
    observeRequest: (request) => {
      answered += 1;
      metrics.observeRequest(request);
      figures.observeRequest(request);
    },
    answeredRequests: () => answered,
    observeSettled: (webhookId, settled) => {
      metrics.observeSettled(webhookId, settled);
      figures.observeSettled(webhookId, settled);
      feed.observeSettled(webhookId, settled);
    },
    observed: (testDelivery) => async (webhookId, actorId) => {
      const attempt = await testDelivery(webhookId, actorId);
      feed.observeSettled(webhookId, { batch: null, fate: null, attempt });
      return attempt;
    },
  };
}
