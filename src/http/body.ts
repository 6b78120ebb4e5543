/** Reads a request's body: bounded in bytes and time, of a media type that is taken, and parsed (contract §1). */
import { isAscii } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { REQUEST_BODY_MS } from '../kernel/limits/limits.ts';
import { Refusal } from '../kernel/refusal.ts';
import { parseForm, parseRepeatedForm } from './form.ts';
import { allHeaders, firstHeader, hasBody } from './raw-headers.ts';
import type { BodyRule } from './route.ts';

export type ReadBody = { readonly body: unknown; readonly mediaType: string };

/** Throws 400 (malformed), 408 (too slow), 413 (too large) or 415 (media type, charset, or content coding). */
export async function readBody(
  request: IncomingMessage,
  rule: BodyRule,
  timeoutMs: number = REQUEST_BODY_MS,
): Promise<ReadBody> {
  const mediaType = checkedMediaType(request, rule);
  const declared = Number(firstHeader(request, 'content-length') ?? 0);
  if (declared > rule.maxBytes) throw tooLarge(rule.maxBytes);
  // What came together with the head, as small bodies do, is whole once the parser is done with the packet: no listeners and no timer
  // are needed then, which took some 7 % of a token request.
  await turnsEnd();
  const bytes = request.complete
    ? readAtOnce(request, rule.maxBytes)
    : await readBytes(request, rule.maxBytes, timeoutMs);
  if (bytes.length === 0 && rule.optional === true) return { body: {}, mediaType };
  const text = decodeUtf8(bytes);
  return { body: parse(text, mediaType, rule), mediaType };
}

function parse(text: string, mediaType: string, { repeats = false }: BodyRule): unknown {
  if (mediaType !== 'application/x-www-form-urlencoded') return parseJson(text);
  return repeats ? parseRepeatedForm(text) : parseForm(text);
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
  const [header, ...more] = allHeaders(request, 'content-type');
  // Of several Node keeps the first, a proxy before us may have read the last.
  if (more.length > 0) throw unsupported('the Content-Type was sent more than once');
  if (header === undefined) {
    if (rule.optional === true && !hasBody(request)) return '';
    throw unsupported(`a Content-Type is required: ${rule.types.join(' or ')}`);
  }
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  if (!(rule.types as readonly string[]).includes(type))
    throw unsupported(`the Content-Type must be ${rule.types.join(' or ')}`);
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  if (charset !== undefined && !/^"?utf-?8"?$/.test(charset)) throw unsupported('the charset must be UTF-8');
  const codings = allHeaders(request, 'content-encoding');
  if (codings.some((coding) => coding.toLowerCase() !== 'identity'))
    throw unsupported('the body must not have a Content-Encoding');
  return type;
}

let ending: Promise<void> | null = null;

/** Resolves once whatever can be read now has been: one for all that wait for it. */
function turnsEnd(): Promise<void> {
  ending ??= new Promise((resolve) => {
    setImmediate(() => {
      ending = null;
      resolve();
    });
  });
  return ending;
}

/** A body of which every byte has arrived. */
function readAtOnce(request: IncomingMessage, maxBytes: number): Buffer {
  if (request.readableLength > maxBytes) throw tooLarge(maxBytes);
  // Without a size, Node 26 and Deno return the first chunk alone.
  return (request.read(request.readableLength) as Buffer | null) ?? NO_BYTES;
}

const NO_BYTES: Buffer = Buffer.alloc(0);

function readBytes(request: IncomingMessage, maxBytes: number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Its client has left while something else was waited for: nothing more would come of it, not even the end.
    if (request.destroyed) return reject(cutShort());
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

function decodeUtf8(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString('latin1');
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
