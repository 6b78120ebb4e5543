/** `GET /metrics` (contract §6.6): for Prometheus on this machine, or with a token that has the scope `edge:metrics`. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { type Gate, requireOperator } from '../../access/gate.ts';
import { isForwarded } from '../forwarded.ts';
import type { Route } from '../route.ts';

const METRICS_PATH = '/metrics';

type Metrics = { readonly contentType: string; render(): Promise<string> };
type Dependencies = { readonly metrics: Metrics; readonly gate: Gate };

export function metricsRoutes({ metrics, gate }: Dependencies): Route[] {
  return [
    {
      for: 'operator',
      method: 'GET',
      path: METRICS_PATH,
      access: 'open',
      authentication: { by: ['none', 'bearer'], scope: 'edge:metrics' },
      tag: 'operation',
      operationId: 'getMetrics',
      summary: 'Read the metrics in the text format of Prometheus',
      description:
        'On the loopback address no token is asked for, unless a proxy sent the request on: it says so in `X-Forwarded-For` or the like.',
      replies: {
        200: { description: 'The metrics', schema: z.string(), mediaType: 'text/plain' },
        401: { description: 'The call is from another machine, and its token does not have the scope' },
      },
      respond: async ({ request }) => {
        if (!isFromThisMachine(request)) {
          const caller = await gate.authenticate(request.headersDistinct.authorization ?? []);
          gate.authorize(caller, 'GET', [METRICS_PATH.slice(1)]);
          requireOperator(caller);
        }
        return { status: 200, headers: { 'Content-Type': metrics.contentType }, body: await metrics.render() };
      },
    },
  ];
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** By the address of the socket, because headers can be forged. A proxy that sends no header of its own must not forward this path. */
function isFromThisMachine({ socket, headers }: IncomingMessage): boolean {
  const [address = ''] = socket.remoteAddress?.split('%', 1) ?? [];
  const family = isIP(address);
  if (family === 0 || !loopback.check(address, family === 4 ? 'ipv4' : 'ipv6')) return false;
  return !isForwarded(headers);
}
