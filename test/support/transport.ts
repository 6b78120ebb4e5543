/** A transport that may reach this machine's loopback addresses, and functions to use it in tests. */

import type { TestContext } from 'node:test';
import type { ErrorClass, Failure, Outcome } from '../../src/domain/outcome.ts';
import type { Egress, EgressPolicy } from '../../src/outbound/egress.ts';
import { parseCidr } from '../../src/outbound/ip-address.ts';
import type { ResolveHost } from '../../src/outbound/resolve.ts';
import {
  createTransport,
  type Transport,
  type TransportOptions,
  type TransportRequest,
} from '../../src/outbound/transport.ts';

export function allowing(...blocks: readonly string[]): EgressPolicy {
  return {
    allow: blocks.map((block) => {
      const verdict = parseCidr(block);
      if (!verdict.ok) throw new Error(verdict.description);
      return verdict.cidr;
    }),
  };
}

export const LOOPBACK: EgressPolicy = allowing('127.0.0.0/8', '::1');

/** The same for the endpoints of customers, unless `customers` has other blocks. */
export function egressOf(operator: EgressPolicy, customers: EgressPolicy = operator): Egress {
  return { operator, customers: { ...customers, isForCustomers: true } };
}

/** Resolves any name to these addresses. */
export function resolvingTo(...addresses: readonly string[]): ResolveHost {
  return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

type LoopbackOptions = Partial<Omit<TransportOptions, 'egress'>> & {
  readonly egress?: EgressPolicy;
  readonly customerEgress?: EgressPolicy;
};

/** Resolves names to 127.0.0.1 by default. Closed when the test ends. */
export function loopbackTransport(
  t: TestContext,
  { egress = LOOPBACK, customerEgress = egress, ...options }: LoopbackOptions,
): Transport {
  const defaults = { caPem: null, proxyUrl: null, resolve: resolvingTo('127.0.0.1') };
  const transport = createTransport({ ...defaults, ...options, egress: egressOf(egress, customerEgress) });
  t.after(() => transport.close());
  return transport;
}

export function requestTo(url: string, more: Partial<TransportRequest> = {}): TransportRequest {
  return { url: new URL(url), customerId: null, headers: {}, body: Buffer.from('{}'), timeoutMs: 10_000, ...more };
}

/** Returns the failure of an outcome. Throws with the outcome if it is a success or another error class. */
export function failed(outcome: Outcome, errorClass: ErrorClass): Failure {
  if (!outcome.ok && outcome.errorClass === errorClass) return outcome;
  throw new Error(`expected ${errorClass}, got ${JSON.stringify(outcome)}`);
}
