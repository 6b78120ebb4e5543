/** Who watches the service at work, each told of the same: metrics for Prometheus, figures over time for charts, and live tails. */

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
  /** How many requests were answered by now. */
  readonly answeredRequests: () => number;
  readonly observeSettled: ObserveSettled;
  /** The same, with whoever follows attempts live told of tests too. */
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
