/** Reads a request's body: bounded in bytes and time, of a media type that is taken, and parsed (wire.md §1). */
import type { IncomingMessage } from 'node:http';
import { REQUEST_BODY_MS } from '../limits.ts';
import { Refusal } from '../refusal.ts';
import type { BodyRule } from './route.ts';

export type ReadBody = { readonly body: unknown; readonly mediaType: string };

/** Throws 400 (malformed), 408 (too slow), 413 (too large) or 415 (media type, charset, or content coding). */
export async function readBody(request: IncomingMessage, rule: BodyRule): Promise<ReadBody> {
  const mediaType = checkedMediaType(request, rule);
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > rule.maxBytes) throw tooLarge(rule.maxBytes);
  const bytes = await readBytes(request, rule.maxBytes);
  if (bytes.length === 0 && rule.optional === true) return { body: {}, mediaType };
  const text = decodeUtf8(bytes);
  return { body: mediaType === 'application/x-www-form-urlencoded' ? parseForm(text) : parseJson(text), mediaType };
}

/** The form's parameters, each given once (RFC 6749 §3.2). An empty value counts as not given. */
function parseForm(text: string): Readonly<Record<string, string>> {
  const form: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(text)) {
    if (Object.hasOwn(form, name))
      throw new Refusal('invalid_request', `the parameter ${printable(name)} was sent more than once`);
    form[name] = value;
  }
  return form;
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
  if (coding !== undefined && coding !== 'identity') throw unsupported('the body must not have a Content-Encoding');
  return type;
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(
      () =>
        finish(() =>
          reject(
            new Refusal('request_timeout', 'the body did not arrive in time', { headers: { Connection: 'close' } }),
          ),
        ),
      REQUEST_BODY_MS,
    );
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      request.removeAllListeners('data');
      request.removeAllListeners('end');
      settle();
    };
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) finish(() => reject(tooLarge(maxBytes)));
      else chunks.push(chunk);
    });
    request.once('end', () =>
      finish(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))),
    );
    request.once('error', (error) => finish(() => reject(error)));
    request.once('close', () => {
      if (!request.complete) finish(() => reject(new Refusal('invalid_request', 'the body ended before it was whole')));
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

/** The rest of such a body is not read: the connection ends with the answer. */
function tooLarge(maxBytes: number): Refusal {
  return new Refusal('content_too_large', `the body has more than ${maxBytes} bytes`, {
    headers: { Connection: 'close' },
  });
}

function unsupported(description: string): Refusal {
  return new Refusal('unsupported_media_type', description);
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
}
