/** The signature template of a webhook as it is given, checked and shown (contract §12.6). */

import { z } from 'zod';
import { HEADER_NAME, reservedProblem } from '../domain/endpoint-headers.ts';
import type { SignatureTemplate } from '../domain/webhook.ts';
import { type FieldProblem, refuseFields } from '../kernel/refusal.ts';
import { isObject } from '../kernel/validation.ts';
import { contentProblem, SIGNATURE_PRESETS, templateWarnings, valueProblem } from '../wire/signature-template.ts';

const PRESETS = ['github', 'stripe', 'shopify', 'slack'] as const satisfies (keyof typeof SIGNATURE_PRESETS)[];
const SIGNATURE_KEYS = ['text', 'decoded', 'prefixed'] as const satisfies SignatureTemplate['key'][];
const TEMPLATE_MAX_LENGTH = 500;

const template = z.string().max(TEMPLATE_MAX_LENGTH);
const headerName = z
  .string()
  .regex(HEADER_NAME, 'must be a token of HTTP: 1 to 200 letters, digits and some punctuation, without spaces')
  .refine((name) => reservedProblem(name) === null, {
    error: ({ input }) => reservedProblem(String(input)) ?? '',
  });

/** Every member is optional, because a preset or a default fills it in. */
export const signatureInput = z.strictObject({
  preset: z.enum(PRESETS).nullable().optional().meta({ description: 'Fills in the members that are absent.' }),
  header: headerName
    .nullable()
    .optional()
    .meta({ description: 'The header of the signature. Required without a preset.' }),
  algorithm: z
    .enum(['sha256', 'sha512', 'sha1'])
    .nullable()
    .optional()
    .meta({ description: 'The hash of the HMAC. Default: sha256. sha1 is weak.' }),
  encoding: z.enum(['hex', 'base64']).nullable().optional().meta({ description: 'Default: hex.' }),
  value: template
    .nullable()
    .optional()
    .meta({
      description:
        'The value of the header, with `{signature}` once, `{timestamp}`, `{id}`, `{url}` and `{path}`. ' +
        'Default: the algorithm, `=` and `{signature}`.',
    }),
  content: template.nullable().optional().meta({
    description: 'What is signed: `{body}`, `{timestamp}`, `{id}`, `{url}` and `{path}`. Default: `{body}`.',
  }),
  key: z.enum(SIGNATURE_KEYS).nullable().optional().meta({
    description:
      'The UTF-8 bytes of the secret, the secret decoded from Base64, or the UTF-8 bytes of `whsec_` and the secret. Default: text.',
  }),
  repeat: z
    .string()
    .regex(/^(?:[,;:|&] ?| )$/, 'must be one of , ; : | & with or without a space after it, or a space')
    .nullable()
    .optional()
    .meta({
      description: 'During a rotation, the part around `{signature}` is repeated for the other secret after this.',
    }),
  timestampHeader: headerName.nullable().optional().meta({ description: 'A header that has `{timestamp}`.' }),
  idHeader: headerName.nullable().optional().meta({ description: 'A header that has `{id}`.' }),
  warnings: z.array(z.string()).optional().meta({ description: 'As reads have it. Ignored.' }),
});
type SignatureInput = z.output<typeof signatureInput>;

export const signatureView = z.object({
  preset: z.enum(PRESETS).nullable(),
  header: z.string(),
  algorithm: z.enum(['sha256', 'sha512', 'sha1']),
  encoding: z.enum(['hex', 'base64']),
  value: z.string(),
  content: z.string(),
  key: z.enum(SIGNATURE_KEYS),
  repeat: z.string().nullable(),
  timestampHeader: z.string().nullable(),
  idHeader: z.string().nullable(),
  warnings: z.array(z.string()).meta({ description: 'What is weak about it.' }),
});

export const signaturePreviewInput = z
  .strictObject({
    signature: signatureInput.nullable().optional().meta({ description: 'Instead of that of the webhook.' }),
    eventType: z
      .string()
      .max(130)
      .nullable()
      .optional()
      .meta({ description: 'Signs the sample of this event type. Default: a `webhook.test` record.' }),
  })
  .meta({ id: 'SignaturePreviewInput', description: 'Which signature to preview, and of which sample.' });

export const signaturePreviewView = z
  .object({
    header: z.string(),
    value: z.string(),
    headers: z.record(z.string(), z.string()).meta({ description: 'All headers of the signature.' }),
    signedBase64: z.string().meta({ description: 'The exact bytes that are signed, in Base64.' }),
    signedText: z.string().nullable().meta({ description: 'The same as text; null if they are not UTF-8.' }),
    bodyBase64: z.string().meta({ description: 'The body as it would be sent.' }),
    timestamp: z.int().meta({ description: '`{timestamp}`.' }),
    id: z.string().meta({ description: '`{id}`.' }),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'SignaturePreview', description: 'A signature for a sample.' });

/**
 * The whole template. `patch`: what a merge patch has of it; a preset in it starts from the beginning, so that nothing of the former
 * template stays. Throws a refusal that names every field.
 */
export function signatureOf(merged: SignatureInput, patch: unknown = merged): SignatureTemplate {
  const isPreset = isObject(patch) && (patch.preset ?? null) !== null;
  const given = isPreset ? pick(merged, Object.keys(patch)) : merged;
  const preset = given.preset ?? null;
  const defaults: Partial<SignatureTemplate> = preset === null ? {} : SIGNATURE_PRESETS[preset];
  const algorithm = given.algorithm ?? defaults.algorithm ?? 'sha256';
  const made: SignatureTemplate = {
    preset,
    header: given.header ?? defaults.header ?? '',
    algorithm,
    encoding: given.encoding ?? defaults.encoding ?? 'hex',
    value: given.value ?? defaults.value ?? `${algorithm}={signature}`,
    content: given.content ?? defaults.content ?? '{body}',
    key: given.key ?? defaults.key ?? 'text',
    repeat: given.repeat ?? defaults.repeat ?? null,
    timestampHeader: given.timestampHeader ?? defaults.timestampHeader ?? null,
    idHeader: given.idHeader ?? defaults.idHeader ?? null,
  };
  const problems = templateProblems(made);
  if (problems.length > 0) throw refuseFields(problems);
  return made;
}

function pick(input: SignatureInput, names: readonly string[]): SignatureInput {
  return Object.fromEntries(Object.entries(input).filter(([name]) => names.includes(name))) as SignatureInput;
}

function templateProblems({ header, value, content, timestampHeader, idHeader }: SignatureTemplate): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const refuse = (field: string, problem: string | null): void => {
    if (problem !== null) problems.push({ field: `signature.${field}`, problem });
  };
  refuse('header', header === '' ? 'is required without a preset' : setProblem(header));
  refuse('value', valueProblem(value));
  refuse('content', contentProblem(content));
  const names = [header, timestampHeader, idHeader].map((name) => name?.toLowerCase() ?? null);
  for (const [at, field] of [
    [1, 'timestampHeader'],
    [2, 'idHeader'],
  ] as const) {
    const name = names[at] ?? null;
    if (name === null) continue;
    refuse(field, names.indexOf(name) < at ? 'repeats the name of another header' : setProblem(name));
  }
  return problems;
}

/** Headers that every request of the service has, beside those with reserved names. */
function setProblem(name: string): string | null {
  const lower = name.toLowerCase();
  const setters: Readonly<Record<string, string>> = {
    authorization: 'the endpoint (its signature, authentication or oauth)',
    'x-api-key': 'the endpoint',
    'x-content-encrypted': 'the encryption',
    'user-agent': 'the service',
  };
  return Object.hasOwn(setters, lower) ? `${lower} is set by ${setters[lower]}` : null;
}

/** The names of the headers that a template sends, in lower case, by their fields. */
export function templateHeaders(signature: SignatureTemplate | null): ReadonlyMap<string, string> {
  if (signature === null) return new Map();
  const fields = ['header', 'timestampHeader', 'idHeader'] as const;
  return new Map(
    fields.flatMap((field) => {
      const name = signature[field];
      return name === null ? [] : [[name.toLowerCase(), `signature.${field}`]];
    }),
  );
}

export function viewSignature(signature: SignatureTemplate | null): z.infer<typeof signatureView> | null {
  return signature === null ? null : { ...signature, warnings: templateWarnings(signature) };
}
