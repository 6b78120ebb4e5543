/** A delivery's target: the webhook with its endpoint and key. */
import type { Endpoint } from '../webhooks/endpoint.ts';
import type { PgpKey } from '../webhooks/key.ts';
import type { Webhook } from '../webhooks/webhook.ts';

export type DeliveryTarget = { readonly webhook: Webhook; readonly endpoint: Endpoint; readonly key: PgpKey | null };
