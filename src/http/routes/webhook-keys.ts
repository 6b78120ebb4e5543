/** `GET /.well-known/webhook-keys` (contract §12.7): the public keys with which deliveries are signed. */
import type { Clock } from '../../kernel/ids.ts';
import type { EndpointPublicKeys, WebhookVerbs } from '../../store/port/webhooks.ts';
import { viewWebhookKeys, webhookKeysView } from '../../webhooks/webhook-keys.ts';
import type { Route } from '../route.ts';

const WEBHOOK_KEYS_PATH = '/.well-known/webhook-keys';
const CACHE_SECONDS = 60;

type Dependencies = { readonly store: Pick<WebhookVerbs, 'endpoints'>; readonly clock: Clock };

export function webhookKeyRoutes({ store, clock }: Dependencies): Route[] {
  let reading: Promise<readonly EndpointPublicKeys[]> | null = null;
  /** Concurrent requests share one read, because anyone may ask. */
  const read = (): Promise<readonly EndpointPublicKeys[]> => {
    reading ??= store.endpoints.publicKeys().finally(() => {
      reading = null;
    });
    return reading;
  };
  return [
    {
      for: 'anyone',
      method: 'GET',
      path: WEBHOOK_KEYS_PATH,
      access: 'open',
      tag: 'webhooks',
      operationId: 'getWebhookKeys',
      summary: 'Read the public keys of signatures',
      replies: { 200: { description: 'A JWK set', schema: webhookKeysView } },
      respond: async () => ({
        status: 200,
        headers: { 'Cache-Control': `public, max-age=${CACHE_SECONDS}` },
        body: viewWebhookKeys(await read(), clock()),
      }),
    },
  ];
}
