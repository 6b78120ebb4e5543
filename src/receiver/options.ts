/** What a receiver is told, and the check that it can be used as told. */
import { DECODED_BODY_BYTES, RECEIVED_BODY_BYTES, SIGNATURE_TOLERANCE_SECONDS } from '../limits.ts';
import type { Verdict } from '../wire/verdict.ts';
import type { Delivery, RecordOf } from './delivery.ts';
import type { Refusal } from './refusals.ts';
import type { ReceivedRequest } from './request.ts';
import type { SeenStore } from './seen.ts';

/** Gives the content of a PGP message, or why there is none. What it throws is a fault of this side. */
export type Decrypt = (bytes: Uint8Array, keyName: string) => Promise<Verdict<string, { readonly bytes: Uint8Array }>>;

export type VerifyOptions = {
  /**
   * The endpoint's secret; while it is being rotated, the new one too. The first answers token challenges. May be empty only
   * with `bearer`.
   */
  readonly secrets: string | readonly string[];
  /** What `x-api-key` has to be: one of these. Not checked where absent. */
  readonly apiKey?: string | readonly string[];
  /** For endpoints with OAuth, whose deliveries carry a bearer token in place of a signature: says whether it is good. */
  readonly bearer?: (token: string) => boolean | Promise<boolean>;
  /** For encrypted deliveries: `pgpDecryption` of `sallyport-receiver/pgp`, or your own. */
  readonly decrypt?: Decrypt;
  /** Custom headers that are relied on, and therefore have to be signed. */
  readonly requiredHeaders?: readonly string[];
  /** Have the signature of Standard Webhooks (`webhook-signature`) verified as well. */
  readonly standardWebhooks?: boolean;
  /** The endpoint's URL as the sender has it, where a proxy changes the path on the way; the path is signed. */
  readonly url?: string;
  /** How far the date may be from this clock, either way (300). `Infinity` lets every date pass: for tests with old payloads. */
  readonly toleranceSeconds?: number;
  /** A body as received (4 MiB), and once it is decoded (16 MiB). */
  readonly maxBodyBytes?: number;
  readonly maxDecodedBytes?: number;
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
  /** Told of what `onRecords` or another function given here threw; the console is where absent. */
  readonly onError?: (error: unknown, request: ReceivedRequest) => void;
};

/** The options with what was left out, checked. */
export type VerifySettings = {
  readonly secrets: readonly string[];
  readonly apiKeys: readonly string[];
  readonly bearer: VerifyOptions['bearer'] | null;
  readonly decrypt: Decrypt | null;
  readonly requiredHeaders: readonly string[];
  readonly standardWebhooks: boolean;
  readonly pathAndQuery: string | null;
  readonly toleranceSeconds: number;
  readonly maxBodyBytes: number;
  readonly maxDecodedBytes: number;
  readonly clock: () => number;
};

/** Throws a TypeError for options with which every delivery would be refused, or any would pass. */
export function readOptions(options: VerifyOptions): VerifySettings {
  const { bearer = null, url } = options;
  const secrets = listOf(options.secrets, 'secrets');
  if (secrets.length === 0 && bearer === null) throw new TypeError('secrets: there is none, and no bearer');
  const { toleranceSeconds = SIGNATURE_TOLERANCE_SECONDS } = options;
  if (!(toleranceSeconds >= 0)) throw new TypeError(`toleranceSeconds is ${toleranceSeconds}`);
  const target = url === undefined ? null : new URL(url);
  return {
    secrets,
    apiKeys: 'apiKey' in options ? listOf(options.apiKey, 'apiKey') : [],
    bearer,
    decrypt: options.decrypt ?? null,
    requiredHeaders: options.requiredHeaders ?? [],
    standardWebhooks: options.standardWebhooks ?? false,
    pathAndQuery: target && target.pathname + target.search,
    toleranceSeconds,
    maxBodyBytes: options.maxBodyBytes ?? RECEIVED_BODY_BYTES,
    maxDecodedBytes: options.maxDecodedBytes ?? DECODED_BODY_BYTES,
    clock: options.clock ?? Date.now,
  };
}

/** An unset environment variable is the usual way to a secret that is not there: it must not turn a check off. */
function listOf(given: string | readonly string[], name: string): readonly string[] {
  const list = typeof given === 'string' ? [given] : [...(given ?? [undefined])];
  for (const text of list) {
    if (typeof text !== 'string' || text === '') throw new TypeError(`${name}: ${JSON.stringify(text)} is none`);
  }
  return list;
}
