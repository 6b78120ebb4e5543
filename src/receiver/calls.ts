/** Calls of the sender's API with an access token, repeated while they fail for the moment. Uses only web APIs. */

import { parseEnvelope } from '../wire/envelope.ts';
import { type Decrypt, readEncoding } from '../wire/payload-decoding.ts';
import type { RecordOf } from './delivery.ts';
import { CATCH_UP_BACKOFF_MAX_MS, CATCH_UP_BACKOFF_MS, CATCH_UP_FAILURES, RECEIVED_BODY_BYTES } from './limits.ts';

export type CallOptions = {
  /** The public address of the sender, such as `https://hooks.example.com`. */
  readonly url: string;
  readonly webhookId: string;
  /** Returns an access token with the scope `records:read`. Called before the first read, and again when a token has ended. */
  readonly token: () => string | Promise<string>;
  /** For webhooks with a key: `pgpDecryption` of `sallyport-receiver/pgp`, or a function of your own. */
  readonly decrypt?: Decrypt;
  readonly signal?: AbortSignal;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
};

/** The sender refused a call, or its answer cannot be read. `status` is that of the answer; null if it was 200. */
export class CatchUpError extends Error {
  readonly status: number | null;
  /** The fields that the sender refused. */
  readonly fields: readonly string[];

  constructor(message: string, status: number | null, fields: readonly string[] = []) {
    super(message);
    this.name = 'CatchUpError';
    this.status = status;
    this.fields = fields;
  }
}

/** Records as the sender answers with them. `acknowledgedOffset` is there only in mode `pull`. */
type Part<Events> = {
  readonly records: readonly RecordOf<Events>[];
  readonly throughOffset: number;
  readonly newestOffset: number;
  readonly acknowledgedOffset?: number;
};

type RecordsCall = { readonly address: URL; readonly init?: { readonly method: string; readonly body: string } };

export type Calls<Events> = {
  read(query: Readonly<Record<string, string>>): Promise<Part<Events>>;
  acknowledge(throughOffset: number): Promise<void>;
};

/**
 * Each call is repeated after a network error, 429 and 5xx, with growing pauses, and rejects after `failuresMax` of them in a row. It
 * rejects with `CatchUpError` for other refusals, and with the reason of `signal` if that ends it.
 */
export function createCalls<Events>(
  { url, webhookId, decrypt, signal, ...options }: CallOptions,
  failuresMax: number = CATCH_UP_FAILURES,
): Calls<Events> {
  const { fetch: send = fetch } = options;
  const base = url.endsWith('/') ? url : `${url}/`;
  const addressOf = (action: string): URL =>
    new URL(`services/api/x/edge/v1/webhooks/${encodeURIComponent(webhookId)}/${action}`, base);
  let token: string | null = null;

  const ask = async ({ address, init }: RecordsCall): Promise<Response> => {
    token ??= await options.token();
    return send(address, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...(init && { 'content-type': 'application/json' }) },
      redirect: 'error',
      ...(signal && { signal }),
    });
  };

  const call = async <Result>(
    request: RecordsCall,
    understand: (response: Response) => Promise<Result>,
  ): Promise<Result> => {
    let isTokenNew = token === null;
    for (let failures = 1; ; failures += 1) {
      let problem: unknown;
      let pauseMs = Math.min(CATCH_UP_BACKOFF_MAX_MS, CATCH_UP_BACKOFF_MS * 2 ** (failures - 1));
      try {
        const response = await ask(request);
        if (response.status === 200) return await understand(response);
        problem = await refusalOf(response);
        if (response.status === 401 && !isTokenNew) {
          token = null;
          isTokenNew = true;
          // The new token has as many calls as any.
          failures -= 1;
          continue;
        }
        if (response.status !== 429 && response.status < 500) throw problem;
        const askedMs = retryAfterMs(response.headers.get('retry-after'), Date.now());
        pauseMs = Math.min(CATCH_UP_BACKOFF_MAX_MS, Math.max(pauseMs, askedMs));
      } catch (error) {
        if (error instanceof CatchUpError) throw error;
        signal?.throwIfAborted();
        problem = error;
      }
      if (failures >= failuresMax) throw problem;
      await pause(pauseMs, signal);
    }
  };

  return {
    read: (query) => {
      const address = addressOf('records');
      address.search = String(new URLSearchParams(query));
      return call({ address }, (response) => readPart<Events>(response, decrypt));
    },
    acknowledge: (throughOffset) => {
      const init = { method: 'POST', body: JSON.stringify({ throughOffset }) };
      return call({ address: addressOf('acknowledge'), init }, async (response) => {
        await response.arrayBuffer();
      });
    },
  };
}

/** The three forms of an HTTP date (RFC 9110 §5.6.7). All are in GMT, although the last one does not say so. */
const HTTP_DATE = /^(?:[A-Z][a-z]+, \d\d[ -][A-Z].* \d\d:\d\d:\d\d GMT|[A-Z][a-z]{2} [A-Z].* \d\d:\d\d:\d\d \d{4})$/;

/** The wait that a `Retry-After` asks for (RFC 9110 §10.2.3: seconds, or an HTTP date); 0 for a past date and for anything else. */
function retryAfterMs(header: string | null, now: number): number {
  const text = (header ?? '').trim();
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = HTTP_DATE.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;
  return at > now ? at - now : 0;
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
  return new CatchUpError(
    `the sender answered ${response.status}: ${text.slice(0, 500)}`,
    response.status,
    fieldsOf(text),
  );
}

/** The refused fields of an error body (contract §1.4). */
function fieldsOf(text: string): string[] {
  try {
    const { error } = JSON.parse(text) as { error?: { details?: readonly { field?: unknown }[] | null } };
    return (error?.details ?? []).flatMap(({ field }) => (typeof field === 'string' ? [field] : []));
  } catch {
    return [];
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
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
