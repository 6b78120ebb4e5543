/** Masks secrets in the answers of servers, because people see them. Pure. */
import type { ReceiverAnswer } from './outcome.ts';

/** Tokens in JSON and in forms: before the value, and the value. */
const TOKENS = [
  /("(?:access|refresh|id)_token"\s*:\s*")((?:[^"\\]|\\.)*)/g,
  /((?:access|refresh|id)_token=)([^&\s]+)/g,
] as const;

const MASK = '[secret]';

/**
 * Masks tokens, in JSON and in forms, and the texts of `secrets`, because people see the response. All are searched in the original text.
 * So no mask becomes part of another one, and no secret hides a token that it overlaps.
 */
export function masked(text: string, secrets: readonly string[]): string {
  const spans: [from: number, to: number][] = [];
  for (const pattern of TOKENS) {
    for (const { index, 1: before = '', 2: value = '' } of text.matchAll(pattern)) {
      const from = index + before.length;
      spans.push([from, from + value.length]);
    }
  }
  for (const secret of new Set(secrets)) {
    for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1))
      spans.push([at, at + secret.length]);
  }
  let out = '';
  let end = 0;
  for (const [from, to] of joined(spans)) {
    out += text.slice(end, from) + MASK;
    end = to;
  }
  return out + text.slice(end);
}

/** The spans in order; overlapping ones become one. Adjacent ones stay apart. */
function joined(spans: readonly (readonly [from: number, to: number])[]): (readonly [from: number, to: number])[] {
  const result: (readonly [from: number, to: number])[] = [];
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0] || b[1] - a[1])) {
    const last = result.at(-1);
    if (last !== undefined && from < last[1]) result[result.length - 1] = [last[0], Math.max(last[1], to)];
    else result.push([from, to]);
  }
  return result;
}

/** The response with tokens and secrets masked in its headers and body. */
export function maskSecrets(answer: ReceiverAnswer, secrets: readonly string[]): ReceiverAnswer {
  const headers = Object.entries(answer.headers).map(([name, value]) => [name, masked(value, secrets)]);
  const body = Buffer.from(masked(Buffer.from(answer.body).toString('utf8'), secrets));
  return { ...answer, headers: Object.fromEntries(headers), body };
}

/** The forms in which an answer may repeat a secret: as it is, in JSON with and without escapes, in a URL, in a form. */
export function formsOfSecret(secret: string): readonly string[] {
  if (secret === '') return [];
  const inJson = JSON.stringify(secret).slice(1, -1);
  const escaped = inJson.replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const inForm = new URLSearchParams({ '': secret }).toString().slice(1);
  return [secret, inJson, escaped, encodeURIComponent(secret), inForm];
}
