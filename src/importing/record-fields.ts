/** Fields of the new records that the exports of all senders have in common: metadata, headers, address and waits. Pure. */

import {
  HEADER_NAME,
  HEADER_VALUE,
  HEADER_VALUE_MAX_BYTES,
  REQUEST_HEADERS_MAX,
  reservedProblem,
} from '../domain/endpoint-headers.ts';
import { METADATA_NAME_MAX_LENGTH, METADATA_PAIRS_MAX, METADATA_VALUE_MAX_LENGTH } from '../domain/limits.ts';
import { isObject } from '../kernel/validation.ts';
import type { Fields, ImportOptions } from './export-reader.ts';
import { shown } from './record-names.ts';

/** The pairs that a customer can have; the others are named in `lost`. */
export function metadataOf(value: unknown): { readonly metadata: Fields; readonly lost: readonly string[] } {
  const pairs = isObject(value) ? Object.entries(value) : [];
  const fits = ([name, text]: [string, unknown]): boolean =>
    typeof text === 'string' &&
    text.length <= METADATA_VALUE_MAX_LENGTH &&
    name.length <= METADATA_NAME_MAX_LENGTH &&
    name.trim() !== '' &&
    !/[\p{Cc}\p{Cf}]/u.test(name);
  const kept = pairs.filter(fits).slice(0, METADATA_PAIRS_MAX);
  const dropped = pairs.length - kept.length;
  return { metadata: Object.fromEntries(kept), lost: dropped === 0 ? [] : [`${dropped} pairs of its metadata`] };
}

export type EndpointHeaders = {
  /** `authentication` and `requestHeaders` of the endpoint. */
  readonly fields: Fields;
  readonly lost: readonly string[];
  /** A header that its receiver may check is missing. */
  readonly isComplete: boolean;
};

/** The headers that the endpoint's customer has set. Their values are kept as secrets. `hidden`: names without a value in the export. */
export function headersOf(given: Fields, hidden: readonly string[]): EndpointHeaders {
  const lost: string[] = [];
  const seen = new Set<string>();
  const requestHeaders: { name: string; value: string; secret: true }[] = [];
  let authentication: Fields | null = null;
  let isComplete = true;
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    const reserved = reservedProblem(name);
    const isFull = requestHeaders.length === REQUEST_HEADERS_MAX;
    const problem = seen.has(lower) ? 'it is there twice' : (reserved ?? headerProblem(name, value, isFull));
    seen.add(lower);
    if (problem !== null) {
      lost.push(`the header ${shown(name)}: ${problem}`);
      // The others are headers that every request has.
      isComplete &&= reserved !== null;
    } else if (lower === 'authorization') authentication = { method: 'header', name: 'Authorization', value };
    else requestHeaders.push({ name, value: String(value), secret: true });
  }
  const missing = hidden.filter((name) => !seen.has(name.toLowerCase()));
  lost.push(...missing.map((name) => `the header ${shown(name)}: its value is not in the export`));
  return { fields: { authentication, requestHeaders }, lost, isComplete: isComplete && missing.length === 0 };
}

function headerProblem(name: string, value: unknown, isFull: boolean): string | null {
  if (!HEADER_NAME.test(name)) return 'its name is not one of HTTP';
  if (typeof value !== 'string' || value.length > HEADER_VALUE_MAX_BYTES || !HEADER_VALUE.test(value))
    return 'its value is not visible ASCII';
  return isFull && name.toLowerCase() !== 'authorization' ? `there are ${REQUEST_HEADERS_MAX} others` : null;
}

/** `https://…` or why the endpoint cannot be made. */
export function urlProblem(url: string | null): string | null {
  if (url === null) return 'has no URL';
  return /^https:/i.test(url) ? null : 'has a URL that does not begin with https:';
}

/** `schedule` with these waits. */
export function retryOf({ retryDelaysSeconds }: ImportOptions, otherwise: readonly number[]): Fields {
  return { policy: 'schedule', delaysSeconds: [...(retryDelaysSeconds ?? otherwise)] };
}
