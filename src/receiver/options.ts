/** What a receiver is told, and the check that it can be used as told. */
import { RECEIVED_BODY_BYTES } from '../kernel/limits/limits.ts';
import { givenSecret } from '../wire/given-secret.ts';
import type { Decrypt } from '../wire/payload-decoding.ts';
import { pathAndQuery } from '../wire/signature.ts';
import type { MessageHead, MessageHeadVerdict } from '../wire/standard-webhooks-verification.ts';
import type { Delivery, RecordOf } from './delivery.ts';
import type { Refusal } from './refusals.ts';
import type { ReceivedRequest } from './request.ts';
import type { SeenStore } from './seen.ts';

export type VerifyOptions = {
  /** The endpoint's secret, with `whsec_` before it or without; while it is being rotated, the new one too. The first answers token challenges. */
  readonly secrets: string | readonly string[];
  /** What `x-api-key` has to be: one of these. Not checked where absent. */
  readonly apiKey?: string | readonly string[];
  /** For endpoints with OAuth, whose deliveries carry a bearer token in place of a signature: says whether it is good. */
  readonly bearer?: (token: string) => boolean | Promise<boolean>;
  /** For encrypted deliveries: `pgpDecryption` of `sallyport-receiver/pgp`, or your own. */
  readonly decrypt?: Decrypt;
  /** Custom headers that are relied on, and therefore have to be signed. */
  readonly requiredHeaders?: readonly string[];
  /** `standardWebhooks` of this package, to have the signature of Standard Webhooks verified as well. */
  readonly standardWebhooks?: (head: MessageHead) => MessageHeadVerdict;
  /** The endpoint's URL as the sender has it, where a proxy changes the path on the way; the path is signed. */
  readonly url?: string;
  /** How far the date may be from this clock, either way (300). `Infinity` lets every date pass: for tests with old payloads. */
  readonly toleranceSeconds?: number;
  /** Of a body, as received and once it is decoded (4 MiB). */
  readonly maxBytes?: number;
  /** Epoch milliseconds; the system's. */
  readonly clock?: () => number;
};

export type ReceiverOptions<Events> = VerifyOptions & {
  /**
   * Gets the records of a delivery that have not been handled before, never none. Once it returns (or what it returns has
   * resolved), they count as handled; where it throws, the answer is 500 and the delivery comes again.
   */
  readonly onRecords: (records: readonly RecordOf<Events>[], delivery: Delivery<Events>) => void | Promise<void>;
  /** Which messages were handled; the last 50,000 in this process's memory where absent. */
  readonly seen?: SeenStore;
  /** Told of every request that was refused. */
  readonly onRefusal?: (refusal: Refusal, request: ReceivedRequest) => void;
  /** Told of what `onRecords` or another function given here threw; the console is where absent. Must not throw. */
  readonly onError?: (error: unknown, request: ReceivedRequest) => void;
};

type AtLeastOne = readonly [string, ...string[]];

/** The options of verification with what was left out. */
export type Settings = Omit<VerifyOptions, 'secrets' | 'apiKey' | 'url'> &
  Readonly<Required<Pick<VerifyOptions, 'maxBytes'>>> & {
    readonly secrets: AtLeastOne;
    readonly apiKeys: readonly string[];
    /** What takes the place of the request's own. */
    readonly pathAndQuery: string | undefined;
  };

/** Throws a TypeError for options with which every delivery would be refused, or any would pass. */
export function readOptions(options: VerifyOptions): Settings {
  // By default values, so that what is undefined lifts no bound.
  const { maxBytes = RECEIVED_BODY_BYTES, url, toleranceSeconds = 0 } = options;
  if (typeof toleranceSeconds !== 'number' || !(toleranceSeconds >= 0))
    throw new TypeError('toleranceSeconds is not a number from 0 on');
  return {
    ...options,
    maxBytes,
    secrets: listOf('secrets', options.secrets).map(withoutPrefix) as unknown as AtLeastOne,
    apiKeys: 'apiKey' in options ? listOf('apiKey', options.apiKey ?? '') : [],
    pathAndQuery: url === undefined ? url : pathAndQuery(new URL(url)),
  };
}

/** As Standard Webhooks writes secrets, they are pasted from elsewhere. */
function withoutPrefix(text: string): string {
  const secret = givenSecret(text);
  if (secret === null) throw new TypeError('secrets has one that begins with whsec_ and is not Base64 after it');
  return secret;
}

/** An unset environment variable is the usual way to a secret that is not there: it must not turn a check off. */
function listOf(name: string, given: string | readonly string[]): AtLeastOne {
  const list = [given].flat();
  if (list.length === 0 || !list.every(Boolean)) throw new TypeError(`${name} is missing or empty`);
  return list as unknown as AtLeastOne;
}
