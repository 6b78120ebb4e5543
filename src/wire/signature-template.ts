/**
 * Signatures of other products (contract §12.6): a template says which bytes are signed and how the header looks. Pure. A template is
 * compiled once and signs many requests.
 */

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { HEADER_VALUE } from '../domain/endpoint-headers.ts';
import type { SignatureTemplate } from '../domain/webhook.ts';

/** The place-holders of `content`. Those of `value` are the same with `signature` in place of `body`. */
const OF_CONTENT = ['body', 'timestamp', 'id', 'url', 'path'] as const;
const OF_VALUE = ['signature', 'timestamp', 'id', 'url', 'path'] as const;

type Holder = (typeof OF_CONTENT)[number] | (typeof OF_VALUE)[number];
/** Literal text, or a place-holder. */
type Part = { readonly text: string } | { readonly holder: Holder };

/** The members that `preset` fills in. Members that are given beside it win. */
export const SIGNATURE_PRESETS = {
  github: { header: 'X-Hub-Signature-256', value: 'sha256={signature}' },
  stripe: {
    header: 'Stripe-Signature',
    value: 't={timestamp},v1={signature}',
    content: '{timestamp}.{body}',
    repeat: ',',
  },
  shopify: { header: 'X-Shopify-Hmac-Sha256', encoding: 'base64', value: '{signature}' },
  slack: {
    header: 'X-Slack-Signature',
    value: 'v0={signature}',
    content: 'v0:{timestamp}:{body}',
    timestampHeader: 'X-Slack-Request-Timestamp',
  },
} as const satisfies Record<string, Partial<SignatureTemplate>>;

type Split = { readonly parts: readonly Part[] } | { readonly problem: string };

/** Splits a template at its place-holders. A brace outside them is a problem, because it is more likely a mistake than meant. */
function split(template: string, allowed: readonly Holder[]): Split {
  const parts: Part[] = [];
  let at = 0;
  for (const { index, 0: found, 1: name = '' } of template.matchAll(/\{([^{}]*)\}/g)) {
    const holder = allowed.find((one) => one === name);
    if (holder === undefined) {
      const names = allowed.map((one) => `{${one}}`).join(', ');
      return { problem: `has the unknown place-holder ${found}; known here: ${names}` };
    }
    if (index > at) parts.push({ text: template.slice(at, index) });
    parts.push({ holder });
    at = index + found.length;
  }
  if (at < template.length) parts.push({ text: template.slice(at) });
  const hasBrace = parts.some((part) => 'text' in part && /[{}]/.test(part.text));
  return hasBrace ? { problem: 'has a brace outside of a place-holder' } : { parts };
}

/** Returns the problem of the content to sign, or null. */
export function contentProblem(content: string): string | null {
  const result = split(content, OF_CONTENT);
  if ('problem' in result) return result.problem;
  if (LIKE_A_DELIVERY.test(content)) return 'reads like a delivery of the service: POST, a path and one more line';
  return result.parts.some((part) => 'holder' in part) ? null : 'must have a place-holder, such as {body}';
}

/**
 * A content like the string to sign of a delivery (contract §5.3), whose third line begins with a hash. The same secret signs both, so such
 * a content would be a signature for a request that the service never made. Only `{body}` can have line ends of its own.
 */
const LIKE_A_DELIVERY = /^POST\n[^\n]*\n(?!\{body\})[^\n]*$/;

/** Returns the problem of the header's value, or null. */
export function valueProblem(value: string): string | null {
  const result = split(value, OF_VALUE);
  if ('problem' in result) return result.problem;
  const signatures = result.parts.filter((part) => 'holder' in part && part.holder === 'signature').length;
  if (signatures !== 1) return 'must have {signature} once';
  return HEADER_VALUE.test(value) ? null : 'must be visible ASCII, with spaces and tabs only between other characters';
}

/** Returns warnings about a template that is allowed. */
export function templateWarnings({ algorithm, content }: SignatureTemplate): string[] {
  return [
    ...(algorithm === 'sha1' ? ['sha1 is weak: use it only for a receiver that knows nothing else'] : []),
    ...(content.includes('{body}') ? [] : ['content lacks {body}: the receiver cannot notice a changed body']),
  ];
}

/** The values of a request for the place-holders. `at` is epoch milliseconds; `id` is the same for every attempt. */
export type TemplateMessage = {
  readonly body: Uint8Array;
  readonly at: number;
  readonly id: string;
  readonly url: URL;
};

export type TemplateSignature = {
  /** The signature, and the time and the id if the template has headers for them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes that were signed, in pieces. */
  readonly signed: readonly (string | Uint8Array)[];
};

/** `keys`: the active one first, then during a rotation the other one. */
export type SignByTemplate = (
  message: TemplateMessage,
  keys: readonly [KeyObject, ...KeyObject[]],
) => TemplateSignature;

/** Throws a `RangeError` for a template that `contentProblem` or `valueProblem` refuses. */
export function compileTemplate(template: SignatureTemplate): SignByTemplate {
  const { header, algorithm, encoding, repeat, timestampHeader, idHeader } = template;
  const content = partsOf(template.content, OF_CONTENT);
  const [before, piece, after] = piecesOf(template.value, repeat);
  const [head, repeated, tail] = [before, piece, after].map((text) => partsOf(text, OF_VALUE));
  return ({ body, at, id, url }, keys) => {
    const timestamp = String(Math.floor(at / 1000));
    const texts = { timestamp, id, url: url.href, path: url.pathname + url.search };
    const textOf = (parts: readonly Part[] = [], signature = ''): string =>
      parts.map((part) => ('text' in part ? part.text : { ...texts, signature, body: '' }[part.holder])).join('');
    const signed = content.map((part) =>
      'text' in part ? part.text : part.holder === 'body' ? body : { ...texts, signature: '' }[part.holder],
    );
    const pieces = (repeat === null ? keys.slice(0, 1) : keys).map((key) =>
      textOf(repeated, digest(algorithm, key, signed, encoding)),
    );
    const headers: Record<string, string> = { [header]: textOf(head) + pieces.join(repeat ?? '') + textOf(tail) };
    if (timestampHeader !== null) headers[timestampHeader] = timestamp;
    if (idHeader !== null) headers[idHeader] = id;
    return { headers, signed };
  };
}

function partsOf(template: string, allowed: readonly Holder[]): readonly Part[] {
  const result = split(template, allowed);
  if ('problem' in result) throw new RangeError(result.problem);
  return result.parts;
}

/**
 * The value before, of and after the piece that is repeated for each key: what stands between two separators around `{signature}`.
 * Without a separator it is the whole value.
 */
function piecesOf(value: string, repeat: string | null): readonly [before: string, piece: string, after: string] {
  if (repeat === null) return ['', value, ''];
  const at = value.indexOf('{signature}');
  const from = value.lastIndexOf(repeat, at);
  const until = value.indexOf(repeat, at);
  const begin = from < 0 ? 0 : from + repeat.length;
  const end = until < 0 ? value.length : until;
  return [value.slice(0, begin), value.slice(begin, end), value.slice(end)];
}

function digest(
  algorithm: SignatureTemplate['algorithm'],
  key: KeyObject,
  parts: readonly (string | Uint8Array)[],
  encoding: SignatureTemplate['encoding'],
): string {
  const hmac = createHmac(algorithm, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest(encoding);
}

/** The key of templates: the UTF-8 bytes of the secret. */
export function textKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret));
}
