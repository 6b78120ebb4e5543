/** Webhooks and endpoints as people browse them: newest first, filtered, each with what a list shows beside it. Reads only. */
import type { Endpoint } from '../webhooks/endpoint.ts';
import type { Webhook, WebhookState } from '../webhooks/webhook.ts';

/** All that are given have to fit; `text` is looked for in names, and in the URLs of endpoints, without regard to case (ASCII). */
export type WebhookFilter = {
  readonly state?: WebhookState;
  readonly endpointId?: string;
  readonly keyName?: string;
  readonly text?: string;
};

export type EndpointFilter = { readonly text?: string };

/** What a choice of endpoints needs, without anything that is sealed. */
export type EndpointName = Pick<Endpoint, 'id' | 'name' | 'enabled' | 'tokenChallenge' | 'verified'>;

export type WebhookListing = {
  readonly webhook: Webhook;
  readonly endpointName: string;
  readonly endpointEnabled: boolean;
  /** Records that wait, and those in batches that are under way or wait for a retry. */
  readonly pendingRecords: number;
};

export type DirectoryStore = {
  /** `before` is the id of the last one of the page before; null begins with the newest. */
  webhooks(filter: WebhookFilter, before: string | null, limit: number): Promise<WebhookListing[]>;
  /** One webhook as the list shows it, or null. */
  webhook(id: string): Promise<WebhookListing | null>;
  /** When the oldest record happened that waits at a webhook; null when none does. */
  oldestWaitingAt(webhookNumber: number): Promise<number | null>;
  /** How many records of a webhook are dead, as far as so many batches hold them; `isWhole` says that there are no more. */
  deadRecords(webhookNumber: number, batches: number): Promise<{ readonly records: number; readonly isWhole: boolean }>;
  /** How many webhooks there are in each state; a state that none is in is not named. */
  states(): Promise<Readonly<Partial<Record<WebhookState, number>>>>;
  endpoints(filter: EndpointFilter, before: string | null, limit: number): Promise<Endpoint[]>;
  /** By name, to choose from. */
  endpointNames(limit: number): Promise<EndpointName[]>;
};
