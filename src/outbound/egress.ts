/**
 * The egress guard (contract §5.12): nothing is sent to an address that is not public unless the operator allowed it.
 * The verdicts are pure. `guardedLookup` applies them between DNS and the connection and returns only checked addresses, so a DNS answer
 * that changes in between (rebinding) has no effect.
 */

import type { LookupAddress, LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { carriedIpv4, rangeOf } from './address-ranges.ts';
import { deliveryError } from './classify.ts';
import { type Cidr, cidrContains, formatAddress, parseAddress, parseCidr, unmapped } from './ip-address.ts';
import { type ResolveHost, systemResolve } from './resolve.ts';

/** Private addresses that are allowed to the endpoints of the operator or of customers. */
export type EgressPolicy = {
  readonly allow: readonly Cidr[];
  /** Messages are read by customers, who learn no address of the operator's network: they name none that a name resolved to. */
  readonly isForCustomers?: boolean;
};

/** `SALLYPORT_EGRESS_ALLOW` and `SALLYPORT_CUSTOMER_EGRESS_ALLOW`. */
export type Egress = { readonly operator: EgressPolicy; readonly customers: EgressPolicy };

/** Allows this machine. */
export const LOOPBACK: EgressPolicy = { allow: ['127.0.0.0/8', '::1'].map(cidrOf) };

/** `range` is the block that the address was refused for, such as `10.0.0.0/8`, or `invalid` for text that is not an address. */
type EgressVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly range: string; readonly description: string };

/**
 * Judges one address. An IPv6 address that contains an IPv4 address is judged by the latter, and the allow list may name either.
 */
export function addressVerdict(address: string, policy: EgressPolicy): EgressVerdict {
  const parsed = parseAddress(address);
  if (parsed === null) return { ok: false, range: 'invalid', description: `"${address}" is not an IP address` };
  const bytes = unmapped(parsed);
  if (allowed(bytes, policy)) return { ok: true };
  const carried = bytes.length === 16 ? carriedIpv4(bytes) : { wholly: false, addresses: [] };
  const own = carried.wholly ? null : rangeOf(bytes);
  if (own !== null) return { ok: false, range: own.text, description: `${address} is ${own.kind} (${own.text})` };
  for (const inside of carried.addresses) {
    const range = allowed(inside, policy) ? null : rangeOf(inside);
    if (range === null) continue;
    const description = `${address} carries ${formatAddress(inside)}, which is ${range.kind} (${range.text})`;
    return { ok: false, range: range.text, description };
  }
  return { ok: true };
}

/**
 * Judges the `hostname` of a URL. An IP literal, with or without brackets, is judged here, because no resolver sees it. Every name passes:
 * its resolved addresses are judged later. Trailing dots change nothing.
 */
export function hostVerdict(hostname: string, policy: EgressPolicy): EgressVerdict {
  const host = bareHost(hostname);
  if (host === '') return { ok: false, range: 'invalid', description: 'the URL has no host' };
  return isLiteral(host) ? addressVerdict(host, policy) : { ok: true };
}

/** The host of a URL as resolvers and certificates know it: no brackets, no trailing dots. */
export function bareHost(hostname: string): string {
  return hostname.replace(/(?<!\.)\.+$/, '').replace(/^\[(.*)\]$/, '$1');
}

/** Whether a bare host is an address and not a name. */
export function isLiteral(host: string): boolean {
  return host.includes(':') || parseAddress(host) !== null;
}

/**
 * Resolves a name and checks every address: one refused address refuses the name, and an empty answer or a failing resolver is a failure.
 * Rejects with an error of class `egress_refused`, or with the resolver's error.
 */
export async function resolveChecked(
  hostname: string,
  policy: EgressPolicy,
  resolve: ResolveHost = systemResolve,
): Promise<LookupAddress[]> {
  const answers = await resolve(hostname);
  if (answers.length === 0) throw dnsError('ENOTFOUND', hostname);
  for (const { address } of answers) {
    const verdict = addressVerdict(address, policy);
    if (verdict.ok) continue;
    const why = policy.isForCustomers === true ? 'resolves to an address that is not public' : verdict.description;
    throw deliveryError('egress_refused', `${hostname}: ${why}`);
  }
  // The family comes from the checked text, not from the resolver.
  return answers.map(({ address }) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

/** A `lookup` for Node's sockets that returns only checked addresses (`resolveChecked`). */
export function guardedLookup(policy: EgressPolicy, resolve: ResolveHost = systemResolve): LookupFunction {
  return (hostname, options, callback) => {
    resolveChecked(hostname, policy, resolve).then(
      (checked) => {
        const wanted = checked.filter(({ family }) => isWanted(family, options));
        const [first] = wanted;
        if (first === undefined) callback(dnsError('ENOTFOUND', hostname), '');
        else if (options.all === true) callback(null, wanted);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => callback(asDnsError(error, hostname), ''),
    );
  };
}

function cidrOf(text: string): Cidr {
  const verdict = parseCidr(text);
  if (!verdict.ok) throw new TypeError(verdict.description);
  return verdict.cidr;
}

function allowed(bytes: Uint8Array, policy: EgressPolicy): boolean {
  return policy.allow.some((cidr) => cidrContains(cidr, bytes));
}

function isWanted(family: number, { family: wanted }: LookupOptions): boolean {
  return wanted === undefined || wanted === 0 || family === (wanted === 'IPv6' ? 6 : wanted === 'IPv4' ? 4 : wanted);
}

/** A failure of the resolver without a code would be classified as a fault of the service. */
function asDnsError(error: unknown, hostname: string): NodeJS.ErrnoException {
  const known =
    error instanceof Error && ('errorClass' in error || ('code' in error && typeof error.code === 'string'));
  return known ? (error as NodeJS.ErrnoException) : dnsError('EAI_FAIL', hostname);
}

function dnsError(code: string, hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} could not be resolved (${code})`), { code });
}
