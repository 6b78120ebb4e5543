/** The public keys with which deliveries of endpoints are signed, as a JWK set (RFC 7517; contract §12.7). */

import { z } from 'zod';
import { publicKeys } from '../domain/endpoint.ts';
import type { EndpointPublicKeys } from '../store/port/webhooks.ts';
import { publicJwk } from '../wire/ed25519.ts';

export const webhookKeysView = z
  .object({
    keys: z.array(
      z.object({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string(),
        kid: z.string().meta({ description: 'The thumbprint of the key (RFC 7638).' }),
        use: z.literal('sig'),
        alg: z.literal('EdDSA'),
      }),
    ),
  })
  .meta({ id: 'WebhookKeys', description: 'The public keys of all endpoints that sign with Ed25519.' });

/** The keys in use at `now`, in an order that does not reveal when a key was made. */
export function viewWebhookKeys(
  endpoints: readonly EndpointPublicKeys[],
  now: number,
): z.infer<typeof webhookKeysView> {
  const keys = endpoints.flatMap((endpoint) => publicKeys(endpoint, now)).map(publicJwk);
  return { keys: keys.toSorted((a, b) => (a.kid < b.kid ? -1 : 1)) };
}
