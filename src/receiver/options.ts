/** The options of a receiver, and their check. */

import type { Decrypt } from '../wire/payload-decoding.ts';
import { givenSecret, pathAndQuery } from '../wire/signature.ts';
import type { MessageHead, MessageHeadVerdict } from '../wire/standard-webhooks-verification.ts';
import type { Delivery, RecordOf } from './delivery.ts';
import type { EventFormats } from './events.ts';
import { RECEIVED_BODY_BYTES } from './limits.ts';
import type { Refusal } from './refusals.ts';
import type { ReceivedRequest } from './request.ts';
import type { SeenStore } from './seen.ts';

type VerifyMessage = (head: MessageHead) => MessageHeadVerdict;

export type VerifyOptions = {
  /**
   * The endpoint's secret, with or without `whsec_`; during a rotation, both secrets. The first one answers token challenges. Without
   * secrets, only `publicKeyWebhooks` verifies: headers are not verified, and token challenges are refused.
   */
  readonly secrets?: string | readonly string[];
  /** The accepted values of `x-api-key`. Not checked if absent. */
  readonly apiKey?: string | readonly string[];
  /** For endpoints with OAuth, whose deliveries carry a bearer token instead of a signature: says whether the token is valid. */
  readonly bearer?: (token: string) => boolean | Promise<boolean>;
  /** For endpoints with Basic authentication, in place of a signature: says whether user name and password are right. */
  readonly basic?: (userName: string, password: string) => boolean | Promise<boolean>;
  /** For encrypted deliveries: `pgpDecryption` of `sallyport-receiver/pgp`, or a function of your own. */
  readonly decrypt?: Decrypt;
  /** Custom headers that must be signed, because the program relies on them. */
  readonly requiredHeaders?: readonly string[];
  /**
   * `standardWebhooks` of this package, to also verify the signature of Standard Webhooks, or `publicKeyWebhooks` for an endpoint with an
   * Ed25519 key.
   */
  readonly standardWebhooks?: VerifyMessage;
  /** The endpoint's URL as the sender knows it. Needed if a proxy changes the path, because the path is signed. */
  readonly url?: string;
  /**
   * How far the date may be from this clock, in either direction (default 300). `Infinity` accepts every date: for tests with old payloads.
   */
  readonly toleranceSeconds?: number;
  /** The largest body, as received and after decoding (default 4 MiB). */
  readonly maxBytes?: number;
  /** Returns epoch milliseconds (default: the system's clock). */
  readonly clock?: () => number;
} & ({ readonly secrets: string | readonly string[] } | { readonly standardWebhooks: VerifyMessage });

type OnRecords<Events> = (records: readonly RecordOf<Events>[], delivery: Delivery<Events>) => void | Promise<void>;

export type ReceiverOptions<Events> = VerifyOptions & {
  /**
   * Gets the records of a delivery that have not been handled before; at least one. When it returns, or the promise that it returns
   * resolves, the records count as handled. If it throws, the answer is 500 and the delivery is sent again.
   */
  readonly onRecords?: OnRecords<Events>;
  /** `eventFormats` of this package, for webhooks with another format than records. Without `onRecords`, records are refused. */
  readonly events?: EventFormats<Events>;
  /** Remembers which messages were handled (default: the last 50,000, in the memory of this process). */
  readonly seen?: SeenStore;
  /** Called for every refused request. */
  readonly onRefusal?: (refusal: Refusal, request: ReceivedRequest) => void;
  /** Called with what `onRecords` or another function of these options threw (default: `console.error`). Must not throw. */
  readonly onError?: (error: unknown, request: ReceivedRequest) => void;
} & ({ readonly onRecords: OnRecords<Events> } | { readonly events: EventFormats<Events> });

type AtLeastOne = readonly [string, ...string[]];

/** The options of verification with their defaults. */
export type Settings = Omit<VerifyOptions, 'secrets' | 'standardWebhooks' | 'apiKey' | 'url'> &
  Readonly<Required<Pick<VerifyOptions, 'maxBytes'>>> & {
    readonly standardWebhooks?: VerifyMessage | undefined;
    /** None: `standardWebhooks` verifies. */
    readonly secrets: AtLeastOne | readonly [];
    readonly apiKeys: readonly string[];
    /** Used instead of the request's own path and query. */
    readonly pathAndQuery: string | undefined;
  };

/** Throws a TypeError for options that would refuse every delivery, or accept any. */
export function readOptions(options: VerifyOptions): Settings {
  // Default values also apply to undefined, so that it does not remove a limit.
  const { maxBytes = RECEIVED_BODY_BYTES, url, toleranceSeconds = 0 } = options;
  if (typeof toleranceSeconds !== 'number' || !(toleranceSeconds >= 0))
    throw new TypeError('toleranceSeconds must be a number of at least 0');
  const isByKey = !('secrets' in options) && options.standardWebhooks !== undefined;
  if (isByKey && options.requiredHeaders?.length) throw new TypeError('requiredHeaders need secrets');
  return {
    ...options,
    maxBytes,
    secrets: isByKey ? [] : (listOf('secrets', options.secrets ?? '').map(withoutPrefix) as unknown as AtLeastOne),
    apiKeys: 'apiKey' in options ? listOf('apiKey', options.apiKey ?? '') : [],
    pathAndQuery: url === undefined ? url : pathAndQuery(new URL(url)),
  };
}

/** Accepts secrets in the form of Standard Webhooks. */
function withoutPrefix(text: string): string {
  const secret = givenSecret(text);
  if (secret === null) throw new TypeError('a secret begins with whsec_ but is not Base64 after that');
  return secret;
}

/** Refuses empty text, which often comes from an unset environment variable: it must not turn off a check. */
function listOf(name: string, given: string | readonly string[]): AtLeastOne {
  const list = [given].flat();
  if (list.length === 0 || !list.every(Boolean)) throw new TypeError(`${name} is missing or empty`);
  return list as unknown as AtLeastOne;
}
