/** Which webhooks use an endpoint or a key, or get a type of event: for many of them at once, as lists show them. Reads only. */
import type { WebhookState } from '../webhooks/webhook.ts';

export type Use = { readonly id: string; readonly name: string; readonly state: WebhookState };

/** How many webhooks there are, and the first few of them in order of creation. */
export type Uses = { readonly count: number; readonly first: readonly Use[] };

export type UseStore = {
  /** By the id of each endpoint that is used at all. */
  ofEndpoints(ids: readonly string[]): Promise<ReadonlyMap<string, Uses>>;
  /** By the name of each key. */
  ofKeys(names: readonly string[]): Promise<ReadonlyMap<string, Uses>>;
  /** By the name of each event type; a webhook with a wildcard gets every type that fits. */
  ofEventTypes(names: readonly string[]): Promise<ReadonlyMap<string, Uses>>;
};

export const NO_USES: Uses = { count: 0, first: [] };
