/** Opens one verified TLS connection to a receiver, directly or through the proxy, and measures its steps. */

import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { Owner } from '../kernel/fair-queue.ts';
import { certificateWanted, classifyError, deliveryError, isExhausted } from './classify.ts';
import { type EgressPolicy, guardedLookup, isLiteral, resolveChecked } from './egress.ts';
import { ADDRESS_ATTEMPT_MS } from './limits.ts';
import { type ConnectProxy, openTunnel } from './proxy.ts';
import { type ResolveHost, systemResolve } from './resolve.ts';
import { lacksCertificate, tlsOptions } from './tls.ts';

/** How requests leave this machine. */
export type Way = {
  readonly egress: EgressPolicy;
  readonly proxy: ConnectProxy | null;
  readonly resolve: ResolveHost | undefined;
};

/** `host`: a name, or an address without brackets that `hostVerdict` has checked. */
export type Destination = { readonly host: string; readonly port: number; readonly secureContext: SecureContext };

/** Filled in step by step, so that a failed connection shows its last step. */
export type ConnectSteps = { dnsMs: number | null; connectMs: number | null; tlsMs: number | null };

/**
 * Rejects with Node's error, or one of class `proxy` or `egress_refused`. Has no time-out: `signal` ends it at any step. `owner`: whose
 * turn the look-up of the name takes.
 */
export async function connectTo(
  { host, port, secureContext }: Destination,
  way: Way,
  steps: ConnectSteps,
  signal: AbortSignal,
  owner: Owner = null,
): Promise<TLSSocket> {
  const lap = stopwatch();
  const resolve: ResolveHost = (hostname) => (way.resolve ?? systemResolve)(hostname, owner);
  const options = tlsOptions(host, secureContext);
  if (way.proxy === null) {
    const lookup = timedLookup(guardedLookup(way.egress, resolve), () => (steps.dnsMs = lap()));
    const happyEyeballs = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS };
    const socket = tlsConnect({ ...options, ...happyEyeballs, port, lookup });
    socket.once('connect', () => (steps.connectMs = lap()));
    return await secured(socket, steps, lap, signal);
  }
  const addresses = isLiteral(host) ? [{ address: host }] : await resolveChecked(host, way.egress, resolve);
  if (!isLiteral(host)) steps.dnsMs = lap();
  signal.throwIfAborted();
  const tunnel = await openTunnel(
    way.proxy,
    addresses.map(({ address }) => address),
    port,
    { signal, namesAddresses: way.egress.isForCustomers !== true },
  );
  steps.connectMs = lap();
  return await secured(tlsConnect({ ...options, socket: tunnel }), steps, lap, signal);
}

/** The error listener stays: an error between this promise and its caller must not be unhandled. */
function secured(socket: TLSSocket, steps: ConnectSteps, lap: () => number, signal: AbortSignal): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const abort = (): unknown => socket.destroy(new Error('given up'));
    signal.addEventListener('abort', abort, { once: true });
    socket.setNoDelay(true);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      reject(steps.connectMs === null ? error : handshakeError(socket, error));
    });
    socket.once('close', () => signal.removeEventListener('abort', abort));
    socket.once('secureConnect', () => {
      steps.tlsMs = lap();
      signal.removeEventListener('abort', abort);
      resolve(socket);
    });
    if (signal.aborted) abort();
  });
}

/** Distinguishes a handshake that the receiver ended from one that this side refused, for example because of the certificate. */
function handshakeError(socket: TLSSocket, error: NodeJS.ErrnoException): Error {
  const { code = '' } = error;
  if (/^ERR_SSL_.*ALERT/.test(code) && lacksCertificate(socket)) return certificateWanted(error);
  if (code === 'ECONNRESET') return deliveryError('tls', 'the receiver broke off the TLS handshake', error);
  // An error without a known code comes from what the receiver sent: everything else for the connection is in place.
  const isUnknown = classifyError(error).errorClass === 'internal' && !isExhausted(error);
  return isUnknown ? deliveryError('tls', `the TLS handshake failed (${code || 'no code'})`, error) : error;
}

function timedLookup(lookup: LookupFunction, onDone: () => void): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, answer: string | LookupAddress[], family) => {
      onDone();
      callback(error, answer, family);
    });
  };
}

/** Milliseconds since the last call, or since its creation. */
function stopwatch(): () => number {
  let from = performance.now();
  return () => {
    const since = from;
    from = performance.now();
    return Math.round(from - since);
  };
}
