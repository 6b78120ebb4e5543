/** One request to the development receiver: its content, or why it is refused. */

import type { IncomingMessage } from 'node:http';
import {
  createReceiver,
  type Opened,
  type ReceivedRequest,
  type Refusal,
  standardWebhooks,
  type VerifyOptions,
} from '../../receiver/index.ts';
import { RECEIVED_BODY_BYTES } from '../../receiver/limits.ts';
import { readChunks } from '../../wire/bytes.ts';
import { lowerCaseHeaders } from '../../wire/headers.ts';

export type Arrival = {
  /** Counts from 1. */
  readonly number: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  /** Names and values as received, credentials masked. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** As received; empty if it could not be read. */
  readonly body: Uint8Array;
  readonly found: Found;
};

type Found = Opened<Record<string, unknown>> | { readonly refusal: Refusal };

/** Reads and verifies requests. Verifies the headers of Standard Webhooks if a request has them. */
export function createInspector(
  options: VerifyOptions,
  clock: () => number,
): (request: IncomingMessage) => Promise<Arrival> {
  const handled = { onRecords: () => {} };
  const plain = createReceiver({ ...options, ...handled });
  const standard = createReceiver({ ...options, ...handled, standardWebhooks });
  let number = 0;
  return async (request) => {
    number += 1;
    const arrival = { number, at: clock(), method: request.method ?? '', path: request.url ?? '' };
    const read = await readChunks(request.iterator({ destroyOnReturn: false }), RECEIVED_BODY_BYTES);
    const pairs = pairsOf(request.rawHeaders);
    const received: ReceivedRequest = {
      ...arrival,
      pathAndQuery: arrival.path,
      headers: pairs,
      body: async () => read,
    };
    const { verify } = lowerCaseHeaders(pairs).has('webhook-signature') ? standard : plain;
    const verdict = await verify(received);
    const body = typeof read === 'string' ? new Uint8Array(0) : read;
    return { ...arrival, headers: pairs.map(masked), body, found: verdict.ok ? verdict : { refusal: verdict } };
  };
}

function pairsOf(raw: readonly string[]): (readonly [string, string])[] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []));
}

/** Hides credentials. A signature is valid for one request only, so it is shown. */
function masked([name, value]: readonly [string, string]): readonly [string, string] {
  if (name.toLowerCase() === 'x-api-key') return [name, '[secret]'];
  return [name, value.replace(/^(bearer) .*/i, '$1 [secret]')];
}
