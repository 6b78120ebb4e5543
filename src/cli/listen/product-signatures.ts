/** Checks the signatures of other products in a request to the development receiver (contract §12.6). */
import type { KeyObject } from 'node:crypto';
import type { SignatureTemplate } from '../../domain/webhook.ts';
import { signatureOf } from '../../webhooks/signature-schema.ts';
import { signingKey } from '../../wire/payload.ts';
import { compileTemplate, SIGNATURE_PRESETS, textKey } from '../../wire/signature-template.ts';

/** A signature that a request has, and whether one of the secrets made it. */
export type ProductSignature = { readonly header: string; readonly ok: boolean };

type Signed = {
  /** With names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly path: string;
  /** As received. */
  readonly body: Uint8Array;
};

/** Returns the signatures that a request has: of the given template, and of every preset by its header. */
export function createSignatureCheck(
  given: SignatureTemplate | null,
  secrets: readonly string[],
): (request: Signed) => readonly ProductSignature[] {
  const presets = (Object.keys(SIGNATURE_PRESETS) as (keyof typeof SIGNATURE_PRESETS)[])
    .map((preset) => signatureOf({ preset }))
    .filter(({ header }) => header.toLowerCase() !== given?.header.toLowerCase());
  const checks = [...(given === null ? [] : [given]), ...presets].map((template) => checkOf(template, secrets));
  return (request) => checks.flatMap((check) => check(request) ?? []);
}

/** Null if the request does not have the header, or not the id that was signed. */
function checkOf(
  template: SignatureTemplate,
  secrets: readonly string[],
): (request: Signed) => ProductSignature | null {
  const { header, timestampHeader, idHeader, repeat } = template;
  const sign = compileTemplate(template);
  const signsId = `${template.content}${template.value}`.includes('{id}');
  const keys = secrets.map((secret) => (template.key === 'decoded' ? signingKey(secret) : textKey(secret)));
  const orders = keyOrders(keys, repeat !== null);
  const timestampIn = timestampPattern(template.value);
  return ({ headers, path, body }) => {
    const value = headers.get(header.toLowerCase());
    if (value === undefined) return null;
    const seconds =
      timestampHeader === null ? timestampIn.exec(value)?.[1] : headers.get(timestampHeader.toLowerCase());
    const id = headers.get(idHeader?.toLowerCase() ?? 'webhook-id') ?? '';
    // In the format `standard`, webhook-id is another id.
    if (signsId && !id.startsWith('msg_')) return null;
    const message = {
      body,
      at: Number(seconds ?? 0) * 1000,
      id,
      url: new URL(path, `https://${headers.get('host') ?? 'localhost'}`),
    };
    const ok = orders.some((order) => sign(message, order).headers[header] === value);
    return { header, ok };
  };
}

type Keys = readonly [KeyObject, ...KeyObject[]];

/** Each single key, and if the signature is repeated during a rotation, each pair in both orders. */
function keyOrders(keys: readonly KeyObject[], isRepeated: boolean): readonly Keys[] {
  const single = keys.map((key): Keys => [key]);
  const pairs = keys.flatMap((first) => keys.filter((other) => other !== first).map((other): Keys => [first, other]));
  return isRepeated ? [...single, ...pairs] : single;
}

/** Finds the timestamp in the value of a header. It finds nothing if the template has none there. */
function timestampPattern(value: string): RegExp {
  const [before = '', after] = value.split('{timestamp}');
  if (after === undefined) return /$^/;
  const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`${literal(before.replace(/^.*\}/s, ''))}(\\d{1,12})${literal(after.replace(/\{.*$/s, ''))}`);
}
