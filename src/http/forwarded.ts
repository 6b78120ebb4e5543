/** Tells requests that a proxy passed on. */
import type { IncomingHttpHeaders } from 'node:http';

const HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'] as const;

/** Whether a proxy says that it passed the request on. One that sends none of these headers stays unknown. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return HEADERS.some((name) => headers[name] !== undefined);
}
