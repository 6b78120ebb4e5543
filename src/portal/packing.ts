/** Pages and assets are sent packed to browsers that take that: charts and tables shrink to a tenth. */
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
 * The reply with its text packed, where that is worth it. What a packed page repeats can be told from its size (BREACH), so a page
 * holds no secret that stays the same beside what a link to it brings along: form tokens are written anew each time.
 */
export async function packed({ headers }: IncomingMessage, reply: Reply): Promise<Reply> {
  const { body } = reply;
  if (typeof body !== 'string' || body.length < PACKED_MIN_LENGTH || !accepts(headers, 'gzip')) return reply;
  return { ...reply, headers: { ...reply.headers, 'Content-Encoding': 'gzip' }, body: await gzipped(body) };
}

const gzipped = promisify<string, Buffer>(gzip);
