/** Compression of pages and assets for browsers that accept it. Charts and tables shrink to a tenth. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Reply } from '../http/route.ts';
import { PACKED_MIN_LENGTH } from '../kernel/limits/portal.ts';

/** RFC 9110 §12.5.3, as far as browsers write it: names, each with a weight that is not zero. */
export function accepts(headers: IncomingHttpHeaders, coding: 'br' | 'gzip'): boolean {
  return String(headers['accept-encoding'] ?? '')
    .split(',')
    .some((part) => {
      const [name = '', weight = ''] = part.split(';').map((text) => text.trim().toLowerCase());
      return name === coding && !/^q=0(?:\.0*)?$/.test(weight);
    });
}

/**
 * The reply with its text compressed if it is long enough. The size of a compressed page reveals repetitions (BREACH), so no page holds a
 * constant secret next to text from its URL: form tokens are masked anew each time.
 */
export async function packed({ headers }: IncomingMessage, reply: Reply): Promise<Reply> {
  const { body } = reply;
  if (typeof body !== 'string' || body.length < PACKED_MIN_LENGTH || !accepts(headers, 'gzip')) return reply;
  return { ...reply, headers: { ...reply.headers, 'Content-Encoding': 'gzip' }, body: await gzipped(body) };
}

const gzipped = promisify<string, Buffer>(gzip);
