/** The state of the service for the overview and the metrics: waiting records, failing webhooks and dead letters. Reads only. */
import type { WebhookState } from '../../domain/webhook.ts';
import type { DirectoryStore, RegistryStore, UseStore } from './directory.ts';
import type { FigureStore } from './figures.ts';
import type { SearchStore } from './search.ts';

type Named = { readonly id: string; readonly name: string };

/** A webhook with waiting records. */
export type Waiting = Named & {
  readonly state: WebhookState;
  readonly records: number;
  readonly oldestAt: number | null;
};

export type Backlog = {
  /** Waiting records of all webhooks, including those in flight or waiting for a retry. */
  readonly records: number;
  readonly oldestAt: number | null;
  readonly webhooks: number;
  /** The webhooks with the most waiting records. */
  readonly longest: readonly Waiting[];
};

/** A webhook that does not deliver although nobody stopped it. */
export type Ailing = Named & {
  readonly webhookNumber: number;
  readonly endpointId: string;
  readonly endpointName: string;
  readonly state: WebhookState;
  readonly reason: string | null;
  readonly detail: string | null;
  /** When attempts began to fail, or when the webhook stopped. Epoch milliseconds. */
  readonly since: number;
  readonly waiting: number;
};

export type DeadLetters = {
  readonly records: number;
  /** More exist than were counted. */
  readonly more: boolean;
};

/** Which steps to the first delivery are done. Of a customer, `eventTypes` are only the public ones. */
export type SetUp = {
  readonly customers: boolean;
  /** More than the one of the first start. */
  readonly applications: boolean;
  /** Besides the built-in ones. */
  readonly eventTypes: boolean;
  readonly endpoints: boolean;
  readonly enabledEndpoints: boolean;
  readonly keys: boolean;
  readonly webhooks: boolean;
  /** In any state but `stopped`. */
  readonly startedWebhooks: boolean;
  readonly runningWebhooks: boolean;
};

/** Figures of the portal's overview: of a customer, or of all with null. */
export type OverviewStore = {
  backlog(customerId: string | null, longest: number): Promise<Backlog>;
  /** Most recent first. */
  ailing(customerId: string | null, limit: number): Promise<Ailing[]>;
  dead(customerId: string | null): Promise<DeadLetters>;
  setUp(customerId: string | null): Promise<SetUp>;
};

/** How much waits at each webhook, for the metrics: from its progress and one index look-up, whatever the size of its log. */
export type Queue = {
  readonly webhookId: string;
  readonly name: string;
  readonly state: string;
  /** Waiting records, including those in flight or waiting for a retry. */
  readonly records: number;
  /** The time of the oldest one, or null. */
  readonly oldestAt: number | null;
};

/** Queue lengths for the metrics, from progress and one index look-up a webhook. */
export type QueueStore = {
  /** The queues of the first `limit` webhooks in order of creation, and the number of records that wait at all others. */
  read(limit: number): Promise<{ readonly queues: readonly Queue[]; readonly otherRecords: number }>;
};

/** The reads of the portal and the metrics across all subjects. */
export type OverviewVerbs = {
  readonly overview: OverviewStore;
  readonly queues: QueueStore;
  readonly figures: FigureStore;
  readonly directory: DirectoryStore;
  readonly registry: RegistryStore;
  readonly uses: UseStore;
  readonly search: SearchStore;
};
