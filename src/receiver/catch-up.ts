/** Reads the records that a receiver lost, in order, with an access token (contract §8 "Records"). Uses only web APIs. */
import {
  CATCH_UP_BACKOFF_MAX_MS,
  CATCH_UP_BACKOFF_MS,
  CATCH_UP_FAILURES,
  RECEIVED_BODY_BYTES,
} from '../kernel/limits/limits.ts';
import { parseEnvelope } from '../wire/envelope.ts';
import { type Decrypt, readEncoding } from '../wire/payload-decoding.ts';
import type { RecordOf } from './delivery.ts';

export type CatchUpOptions<Events> = {
  /** The public address of the sender, such as `https://hooks.example.com`. */
  readonly url: string;
  readonly webhookId: string;
  /** Returns an access token with the scope `records:read`. Called before the first read, and again when a token has ended. */
  readonly token: () => string | Promise<string>;
  /** The offset of the last record that you have (default -1: none, so everything that the sender still keeps). */
  readonly after?: number;
  /**
   * Gets the next records, at least one. When it returns, or the promise that it returns resolves, they count as handled. Keep
   * `throughOffset` together with their effects, as the next `after`. If it throws, `catchUp` rejects with the same error.
   */
  readonly onRecords: (records: readonly RecordOf<Events>[], throughOffset: number) => void | Promise<void>;
  /** Waits for further records until `signal` ends it. Without it, `catchUp` resolves at the newest record. */
  readonly follow?: boolean;
  /** For webhooks with a key: `pgpDecryption` of `sallyport-receiver/pgp`, or a function of your own. */
  readonly decrypt?: Decrypt;
  readonly signal?: AbortSignal;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
};

/** The sender refused a read, or its answer cannot be read. `status` is that of the answer; null if it was 200. */
export class CatchUpError extends Error {
  readonly status: number | null;

  constructor(message: string, status: number | null) {
    super(message);
    this.name = 'CatchUpError';
    this.status = status;
  }
}

type Part<Events> = {
  readonly records: readonly RecordOf<Events>[];
  readonly throughOffset: number;
  readonly newestOffset: number;
};

/**
 * Reads until the newest record and returns its offset. Repeats a read after a network error, 429 and 5xx, with growing pauses; after
 * `CATCH_UP_FAILURES` in a row it rejects. Rejects with `CatchUpError` for other refusals, and with the reason of `signal` if that ends it.
 */
export async function catchUp<Events extends object = Record<string, unknown>>(
  options: CatchUpOptions<Events>,
): Promise<number> {
  const { onRecords, follow = false, signal } = options;
  const read = reader(options);
  let { after = -1 } = options;
  for (;;) {
    const { records, throughOffset, newestOffset } = await read(after, follow);
    if (records.length > 0) await onRecords(records, throughOffset);
    after = throughOffset;
    signal?.throwIfAborted();
    if (!follow && after >= newestOffset) return after;
  }
}

function reader<Events>({ url, webhookId, decrypt, signal, ...options }: CatchUpOptions<Events>) {
  const { fetch: send = fetch } = options;
  const address = new URL(`services/api/x/edge/v1/webhooks/${webhookId}/records`, url.endsWith('/') ? url : `${url}/`);
  let token: string | null = null;

  const ask = async (after: number, follow: boolean): Promise<Response> => {
    token ??= await options.token();
    address.search = String(
      new URLSearchParams({ after: String(after), limit: '1000', ...(follow && { wait: '30' }) }),
    );
    return send(address, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'error',
      ...(signal && { signal }),
    });
  };

  return async (after: number, follow: boolean): Promise<Part<Events>> => {
    let isTokenNew = token === null;
    for (let failures = 1; ; failures += 1) {
      let problem: unknown;
      let pauseMs = Math.min(CATCH_UP_BACKOFF_MAX_MS, CATCH_UP_BACKOFF_MS * 2 ** (failures - 1));
      try {
        const response = await ask(after, follow);
        if (response.status === 200) return await readPart<Events>(response, decrypt);
        problem = await refusalOf(response);
        if (response.status === 401 && !isTokenNew) {
          token = null;
          isTokenNew = true;
          continue;
        }
        if (response.status !== 429 && response.status < 500) throw problem;
        pauseMs = Math.max(
          pauseMs,
          Math.min(CATCH_UP_BACKOFF_MAX_MS, Number(response.headers.get('retry-after') ?? 0) * 1000),
        );
      } catch (error) {
        if (error instanceof CatchUpError) throw error;
        signal?.throwIfAborted();
        problem = error;
      }
      if (failures >= CATCH_UP_FAILURES) throw problem;
      await pause(pauseMs, signal);
    }
  };
}

async function readPart<Events>(response: Response, decrypt: Decrypt | undefined): Promise<Part<Events>> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const encoding = readEncoding([...response.headers], { decrypt, maxBytes: RECEIVED_BODY_BYTES });
  if (!encoding.ok) throw new CatchUpError(`${encoding.code}: ${encoding.description}`, null);
  const decoded = await encoding.decode(bytes);
  if (!decoded.ok) throw new CatchUpError(`${decoded.code}: ${decoded.description}`, null);
  const parsed = parseEnvelope(decoded.body);
  if (!parsed.ok) throw new CatchUpError(`${parsed.code}: ${parsed.description}`, null);
  const part = parsed.envelope as unknown as Part<Events>;
  if (!Number.isSafeInteger(part.throughOffset) || !Number.isSafeInteger(part.newestOffset))
    throw new CatchUpError('malformed_envelope: throughOffset or newestOffset is missing', null);
  return part;
}

async function refusalOf(response: Response): Promise<CatchUpError> {
  const text = await response.text().catch(() => '');
  return new CatchUpError(`the sender answered ${response.status}: ${text.slice(0, 500)}`, response.status);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}
