/** Reads the bodies of requests: JSON and forms, with bounds of size, time and memory (contract §1.5, §1.8). */

import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { LARGE_JSON_BYTES, parseJson, parsingBytes } from '../kernel/json-parts.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { slices, type Work } from '../kernel/slices.ts';
import { printableName, textProblem } from '../kernel/validation.ts';
import type { BodyMemory } from './body-memory.ts';
import { REQUEST_BODY_MS } from './limits.ts';
import { allHeaders, firstHeader, hasBody } from './request.ts';
import type { BodyRule } from './route.ts';

/** The most values of a JSON body above `LARGE_JSON_BYTES`, except for events. */
export const JSON_VALUES_MAX = 20_000;

/** The largest form, a product with all possible scopes and rules, has about 6,000. */
export const FORM_FIELDS_MAX = 10_000;

type BodyOptions = { readonly timeoutMs?: number | undefined; readonly customerId?: string | null };
type ReadBody = { readonly body: unknown; readonly mediaType: string };

/**
 * `customerId`: whose work it is to read a large body; null for the operator and for callers that are not known yet. A body of at most
 * `most` bytes that does not arrive in one piece is collected in memory, which the caller closes. Throws 400 (malformed), 408 (too slow),
 * 413 (too large), 415 (media type, charset, or content coding), 429 (too much of the customer waits), and what the memory throws.
 */
export async function readBody(
  request: IncomingMessage,
  rule: BodyRule,
  memoryFor: (most: number) => BodyMemory,
  { timeoutMs = REQUEST_BODY_MS, customerId = null }: BodyOptions = {},
): Promise<ReadBody> {
  const { mediaType, charset } = checkedMediaType(request, rule);
  const declared = Number(firstHeader(request, 'content-length'));
  if (declared > rule.maxBytes) throw tooLarge(rule.maxBytes);
  // A small body arrives in one packet with the head and is complete at the end of this turn. Reading it then needs no listeners and no
  // timer, which would take 7 % of a token request.
  await turnsEnd();
  const bytes = withoutBom(
    request.complete
      ? readAtOnce(request, rule.maxBytes)
      : await readBytes(request, rule.maxBytes, memoryFor(declared || rule.maxBytes), timeoutMs),
  );
  if (bytes.length === 0 && rule.optional === true) return { body: {}, mediaType };
  if (charset !== 'utf-8' && !isAscii(bytes))
    throw unsupported('the charset must be UTF-8, because the body is not ASCII');
  if (!isUtf8(bytes)) throw new Refusal('invalid_request', 'the body is not UTF-8');
  if (rule.isBytes === true) return { body: bytes, mediaType };
  if (mediaType === 'application/x-www-form-urlencoded')
    return { body: parseAnyForm(bytes.toString(), rule), mediaType };
  if (bytes.length <= LARGE_JSON_BYTES) return { body: parseJson(bytes.toString()), mediaType };
  return { body: await slices(customerId, parsingBody(bytes, request), bytes.length), mediaType };
}

/** Stops when the client has disconnected, because nobody waits for the reply. */
function* parsingBody(bytes: Buffer, { socket }: IncomingMessage): Work<unknown> {
  const work = parsingBytes(bytes, JSON_VALUES_MAX);
  for (;;) {
    if (socket.destroyed) throw cutShort();
    const { done, value } = work.next();
    if (done === true) return value;
    yield;
  }
}

const BOM: Buffer = Buffer.from('\ufeff');

/** A byte order mark does not belong to the text. */
function withoutBom(bytes: Buffer): Buffer {
  return bytes.subarray(0, BOM.length).equals(BOM) ? bytes.subarray(BOM.length) : bytes;
}

function parseAnyForm(text: string, { repeats = false }: BodyRule): unknown {
  return repeats ? parseRepeatedForm(text) : parseForm(text);
}

type ContentType = { readonly mediaType: string; readonly charset: 'utf-8' | 'ascii-compatible' };

/**
 * Stock clients name these for bytes that are ASCII, for example Apache HttpClient with its default of ISO-8859-1. In all of them an ASCII
 * body reads as it does in UTF-8.
 */
const ASCII_COMPATIBLE = /^"?(us-ascii|ascii|iso-8859-\d{1,2}|latin1|windows-125\d|cp125\d)"?$/;

function checkedMediaType(request: IncomingMessage, rule: BodyRule): ContentType {
  const [header, ...more] = allHeaders(request, 'content-type');
  // Node keeps the first of several, but a proxy may have read the last.
  if (more.length > 0) throw unsupported('the Content-Type was sent more than once');
  if (header === undefined) {
    if (rule.optional === true && !hasBody(request)) return { mediaType: '', charset: 'utf-8' };
    throw unsupported(`a Content-Type is required: ${rule.types.join(' or ')}`);
  }
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  if (!(rule.types as readonly string[]).includes(type))
    throw unsupported(`the Content-Type must be ${rule.types.join(' or ')}`);
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  const isUtf8 = charset === undefined || /^"?utf-?8"?$/.test(charset);
  if (!isUtf8 && !ASCII_COMPATIBLE.test(charset)) throw unsupported('the charset must be UTF-8');
  const codings = allHeaders(request, 'content-encoding');
  if (codings.some((coding) => coding.toLowerCase() !== 'identity'))
    throw unsupported('the body must not have a Content-Encoding');
  return { mediaType: type, charset: isUtf8 ? 'utf-8' : 'ascii-compatible' };
}

let ending: Promise<void> | null = null;

/** Resolves when everything that arrived in this turn was read. All callers of one turn share the promise. */
function turnsEnd(): Promise<void> {
  ending ??= new Promise((resolve) => {
    setImmediate(() => {
      ending = null;
      resolve();
    });
  });
  return ending;
}

/** Reads a body that has arrived completely. */
function readAtOnce(request: IncomingMessage, maxBytes: number): Buffer {
  if (request.readableLength > maxBytes) throw tooLarge(maxBytes);
  // Without a size, Node 26 and Deno return only the first chunk.
  return (request.read(request.readableLength) as Buffer | null) ?? NO_BYTES;
}

const NO_BYTES: Buffer = Buffer.alloc(0);

function readBytes(request: IncomingMessage, maxBytes: number, memory: BodyMemory, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The client disconnected earlier, so that neither data nor `end` would follow.
    if (request.destroyed) return reject(cutShort());
    let size = 0;
    const settle = (): void => {
      clearTimeout(timer);
      request.off('data', take).off('end', finish);
    };
    const refuse = (error: unknown): void => {
      settle();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      try {
        if (size > maxBytes) throw tooLarge(maxBytes);
        memory.add(chunk);
      } catch (error) {
        refuse(error);
        return;
      }
      request.pause();
      void memory.turn().then(() => request.resume());
    };
    const finish = (): void => {
      settle();
      resolve(memory.whole());
    };
    const timer = setTimeout(() => refuse(tooSlow()), timeoutMs);
    request.on('data', take).once('end', finish);
    // A client that disconnects before the end of its body is not an error of the service. Keep both listeners: an `error` event without
    // one would throw.
    request.once('error', () => refuse(cutShort()));
    request.once('close', () => {
      if (!request.complete) refuse(cutShort());
    });
  });
}

// Nobody reads the rest of a body that is too large or too slow, so the connection ends after the reply.
const CLOSING = { headers: { Connection: 'close' } };

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('content_too_large', `the body has more than ${maxBytes} bytes`, CLOSING);
}

function tooSlow(): Refusal {
  return new Refusal('request_timeout', 'the body did not arrive in time', CLOSING);
}

function cutShort(): Refusal {
  return new Refusal('invalid_request', 'the body ended before it was complete', CLOSING);
}

function unsupported(description: string): Refusal {
  return new Refusal('unsupported_media_type', description);
}

/** A form as RFC 6749 Appendix B defines it: UTF-8 with percent-encoding. */
type Form = Readonly<Record<string, string>>;

/**
 * Parses a form in which each name occurs once (RFC 6749 §3.2). An empty value stays empty. Throws 400 `invalid_request` for a repeated
 * name, a percent sign without two hex digits, escapes that are not UTF-8, and U+0000.
 */
export function parseForm(text: string): Form {
  const form: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of pairsOf(text)) {
    if (name in form) {
      throw new Refusal('invalid_request', `the parameter ${printableName(name)} was sent more than once`);
    }
    form[name] = value;
  }
  return form;
}

/**
 * Parses a form in which a name may occur several times, as browsers send it. Refuses more than `FORM_FIELDS_MAX` fields before parsing:
 * half a million fit into a body and would block the event loop.
 */
export function parseRepeatedForm(text: string): URLSearchParams {
  if (text.split('&', FORM_FIELDS_MAX + 1).length > FORM_FIELDS_MAX)
    throw new Refusal('invalid_request', `the form has more than ${FORM_FIELDS_MAX} fields`);
  const form = new URLSearchParams();
  for (const [name, value] of pairsOf(text)) form.append(name, value);
  return form;
}

function* pairsOf(text: string): Generator<readonly [name: string, value: string]> {
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decodeFormText(at === -1 ? pair : pair.slice(0, at));
    const value = decodeFormText(at === -1 ? '' : pair.slice(at + 1));
    if (name === null || value === null) {
      throw new Refusal('invalid_request', 'the form has an escape that is broken or not UTF-8');
    }
    const problem = textProblem(name) ?? textProblem(value);
    if (problem !== null) throw refuseField(printableName(name), problem, 'invalid_request');
    yield [name, value];
  }
}

/** Decodes one name or value. Returns null for a broken escape or bytes that are not UTF-8. */
export function decodeFormText(text: string): string | null {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return null;
  }
}
