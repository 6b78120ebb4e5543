/** `GET /services/api/egress-addresses` (contract §12.8): from where deliveries come, for the firewalls of receivers. */
import { z } from 'zod';
import type { Route } from '../route.ts';

const view = z.object({ addresses: z.array(z.string()).meta({ description: 'IP addresses and CIDR blocks.' }) }).meta({
  id: 'EgressAddresses',
  description: 'The addresses that deliveries come from. Empty if the operator has not set them.',
});

export function egressAddressRoutes({ egressAddresses }: { readonly egressAddresses: readonly string[] }): Route[] {
  return [
    {
      for: 'anyone',
      method: 'GET',
      path: '/services/api/egress-addresses',
      access: 'open',
      tag: 'webhooks',
      operationId: 'getEgressAddresses',
      summary: 'List the addresses that deliveries come from',
      replies: { 200: { description: 'The addresses', schema: view } },
      respond: async () => ({ status: 200, body: { addresses: [...egressAddresses] } }),
    },
  ];
}
