/** One request to the development receiver: its content, or why it is refused. */

import type { IncomingMessage } from 'node:http';
import {
  createReceiver,
  type Delivery,
  eventFormats,
  type Opened,
  type ReceivedRequest,
  type Refusal,
} from '../../receiver/index.ts';
import { RECEIVED_BODY_BYTES } from '../../receiver/limits.ts';
import { readChunks } from '../../wire/bytes.ts';
import { lowerCaseHeaders } from '../../wire/headers.ts';
import { publicKeyWebhooks } from '../../wire/public-key-verification.ts';
import { readStandardWebhook } from '../../wire/standard-webhooks-verification.ts';
import type { ListenChecks } from './options.ts';
import { createSignatureCheck, type ProductSignature } from './product-signatures.ts';

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
  /** The signatures of other products that were verified. */
  readonly signatures: readonly ProductSignature[];
};

type Found = Opened<Record<string, unknown>> | { readonly refusal: Refusal };

/** Reads and verifies requests in every format, with the signatures of Standard Webhooks and of other products that they have. */
export function createInspector(
  { signature, publicKeys, ...options }: ListenChecks,
  clock: () => number,
): (request: IncomingMessage) => Promise<Arrival> {
  const events = eventFormats({ onEvents: () => {}, handshake: { origins: '*' } });
  const handled = { onRecords: () => {}, events };
  const standardWebhooks = publicKeys.length > 0 ? publicKeyWebhooks(publicKeys) : readStandardWebhook;
  const plain = createReceiver({ ...options, ...handled });
  const standard = createReceiver({ ...options, ...handled, standardWebhooks });
  const checkSignatures = createSignatureCheck(signature, options.secrets);
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
    const headers = lowerCaseHeaders(pairs);
    const { verify } = headers.has('webhook-signature') ? standard : plain;
    const verdict = await verify(received);
    const body = typeof read === 'string' ? new Uint8Array(0) : read;
    const signatures = verdict.ok ? checkSignatures({ headers, path: arrival.path, body }) : [];
    const wrong = signatures.find(({ ok }) => !ok);
    const found = wrong ? { refusal: wrongSignature(wrong) } : verdict.ok ? verdict : { refusal: verdict };
    return { ...arrival, headers: pairs.map(masked), body, found, signatures };
  };
}

/** The delivery of an arrival in any format, or null. */
export function deliveryIn(found: Found): Pick<Delivery<never>, 'body' | 'secretIndex'> | null {
  return 'delivery' in found ? found.delivery : 'eventDelivery' in found ? found.eventDelivery : null;
}

function wrongSignature({ header }: ProductSignature): Refusal {
  const description = `${header} is not the signature of this request by a secret of the endpoint`;
  return { code: 'wrong_signature', description, verified: true };
}

function pairsOf(raw: readonly string[]): (readonly [string, string])[] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []));
}

/** Hides credentials. A signature is valid for one request only, so it is shown. */
function masked([name, value]: readonly [string, string]): readonly [string, string] {
  if (name.toLowerCase() === 'x-api-key') return [name, '[secret]'];
  return [name, value.replace(/^(bearer|basic) .*/i, '$1 [secret]')];
}
