/** Reads a request's body: bounded in bytes and time, of a media type that is taken, and parsed (wire.md §1). */
import type { IncomingMessage } from 'node:http';
import { REQUEST_BODY_MS } from '../limits.ts';
import { Refusal } from '../refusal.ts';
import { parseForm } from './form.ts';
import type { BodyRule } from './route.ts';

export type ReadBody = { readonly body: unknown; readonly mediaType: string };

/** Throws 400 (malformed), 408 (too slow), 413 (too large) or 415 (media type, charset, or content coding). */
export async function readBody(
  request: IncomingMessage,
  rule: BodyRule,
  timeoutMs: number = REQUEST_BODY_MS,
): Promise<ReadBody> {
  const mediaType = checkedMediaType(request, rule);
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > rule.maxBytes) throw tooLarge(rule.maxBytes);
  const bytes = await readBytes(request, rule.maxBytes, timeoutMs);
  if (bytes.length === 0 && rule.optional === true) return { body: {}, mediaType };
  const text = decodeUtf8(bytes);
  return { body: mediaType === 'application/x-www-form-urlencoded' ? parseForm(text) : parseJson(text), mediaType };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const where = /position \d+(?: \(line \d+ column \d+\))?/.exec(error instanceof Error ? error.message : '')?.[0];
    throw new Refusal('malformed_json', `the body is not JSON${where === undefined ? '' : ` (at ${where})`}`);
  }
}

function checkedMediaType(request: IncomingMessage, rule: BodyRule): string {
  const header = request.headers['content-type'];
  // Node keeps the first of several, a proxy before us may have read the last.
  if (timesSent(request, 'content-type') > 1) throw unsupported('the Content-Type was sent more than once');
  if (header === undefined) {
    if (rule.optional === true && !hasBody(request)) return '';
    throw unsupported(`a Content-Type is required: ${rule.types.join(' or ')}`);
  }
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  if (!(rule.types as readonly string[]).includes(type))
    throw unsupported(`the Content-Type must be ${rule.types.join(' or ')}`);
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  if (charset !== undefined && !/^"?utf-?8"?$/.test(charset)) throw unsupported('the charset must be UTF-8');
  const coding = request.headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw unsupported('the body must not have a Content-Encoding');
  return type;
}

function timesSent({ rawHeaders }: IncomingMessage, name: string): number {
  let times = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at] as string;
    if (sent.length === name.length && sent.toLowerCase() === name) times += 1;
  }
  return times;
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

function readBytes(request: IncomingMessage, maxBytes: number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (): void => {
      clearTimeout(timer);
      request.off('data', take).off('end', finish);
    };
    const refuse = (refusal: Refusal): void => {
      settle();
      reject(refusal);
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxBytes) refuse(tooLarge(maxBytes));
      else chunks.push(chunk);
    };
    const finish = (): void => {
      settle();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    };
    const timer = setTimeout(() => refuse(tooSlow()), timeoutMs);
    request.on('data', take).once('end', finish);
    // A client that goes away in the middle of its body is no fault of ours. Both stay on: an error without a listener would be.
    request.once('error', () => refuse(cutShort()));
    request.once('close', () => {
      if (!request.complete) refuse(cutShort());
    });
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Refusal('invalid_request', 'the body is not UTF-8');
  }
}

// The rest of a body that is too large or too slow is nobody's: the connection ends after the answer.
const CLOSING = { headers: { Connection: 'close' } };

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('content_too_large', `the body has more than ${maxBytes} bytes`, CLOSING);
}

function tooSlow(): Refusal {
  return new Refusal('request_timeout', 'the body did not arrive in time', CLOSING);
}

function cutShort(): Refusal {
  return new Refusal('invalid_request', 'the body ended before it was whole', CLOSING);
}

function unsupported(description: string): Refusal {
  return new Refusal('unsupported_media_type', description);
}
