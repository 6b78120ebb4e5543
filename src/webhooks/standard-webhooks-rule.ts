/**
 * The libraries of Standard Webhooks can only verify a body that is text, with a secret that is Base64 of 24 to 64 bytes (contract §5.7).
 * Other settings are refused, whether the endpoint or the webhook is changed. Pure.
 */
import type { FieldProblem } from '../kernel/refusal.ts';
import { decodeStrictBase64 } from '../wire/bytes.ts';

/** The lengths of a key that the specification of Standard Webhooks allows, in bytes. */
const KEY_MIN_BYTES = 24;
const KEY_MAX_BYTES = 64;

const NAMES = { standardWebhooks: 'standardWebhooks', format: 'the format standard' } as const;

const VERIFIABLE = `Base64 of ${KEY_MIN_BYTES} to ${KEY_MAX_BYTES} bytes`;

/** Whether Standard Webhooks' libraries accept `whsec_<secret>`. */
function isStandardSecret(secret: string): boolean {
  const key = decodeStrictBase64(secret);
  return key !== null && key.length >= KEY_MIN_BYTES && key.length <= KEY_MAX_BYTES;
}

/**
 * Why a webhook with these settings cannot have `standardWebhooks` or the format `standard`: `field` says which. Both fields get a
 * problem. `secrets` are those of the endpoint.
 */
export function standardWebhooksProblems(settings: {
  readonly field: 'standardWebhooks' | 'format';
  readonly encryptionKeyName: string | null;
  readonly contentEncoding: string | null;
  readonly secrets: readonly string[];
}): FieldProblem[] {
  const { field, encryptionKeyName, contentEncoding, secrets } = settings;
  const name = NAMES[field];
  const problems: FieldProblem[] = [];
  if (encryptionKeyName !== null) problems.push(...exclusive(field, 'encryptionKeyName', 'encryptionKeyName'));
  if (contentEncoding !== null) problems.push(...exclusive(field, 'contentEncoding', "the endpoint's contentEncoding"));
  if (!secrets.every(isStandardSecret)) {
    const how = "rotate the endpoint's secret first";
    problems.push({ field, problem: `needs an endpoint whose secret is ${VERIFIABLE}: ${how}` });
    problems.push({ field: 'secret', problem: `is not ${VERIFIABLE}, which ${name} needs` });
  }
  return problems;
}

/** Why an endpoint cannot have these settings while `webhook` sends to it, which has `standardWebhooks` or the format `standard`. */
export function standardEndpointProblems(
  settings: { readonly contentEncoding?: string | null; readonly secret?: string },
  webhook: { readonly id: string; readonly name: string; readonly standardWebhooks: boolean },
): FieldProblem[] {
  const { contentEncoding = null, secret } = settings;
  const field = webhook.standardWebhooks ? 'standardWebhooks' : 'format';
  const whose = `${NAMES[field]} of webhook ${webhook.name} (${webhook.id})`;
  const problems: FieldProblem[] = [];
  if (contentEncoding !== null) {
    problems.push({ field: 'contentEncoding', problem: `cannot be combined with ${whose}: ${WHY}` });
    problems.push({ field, problem: 'cannot be combined with contentEncoding' });
  }
  if (secret !== undefined && !isStandardSecret(secret)) {
    problems.push({ field: 'secret', problem: `must be ${VERIFIABLE} because of ${whose}` });
  }
  return problems;
}

const WHY = "Standard Webhooks' libraries verify the body as text";

function exclusive(standard: keyof typeof NAMES, field: string, name: string): FieldProblem[] {
  return [
    { field: standard, problem: `cannot be combined with ${name}: ${WHY}` },
    { field, problem: `cannot be combined with ${NAMES[standard]}` },
  ];
}
