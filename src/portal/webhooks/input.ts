/** What the forms of webhooks send, as the bodies that the use cases take. Fields have the names of the API, so refusals name them. */
import { definedFields } from '../../kernel/validation.ts';
import { numberOf, textOf } from '../endpoints/input.ts';
import { readRows } from '../parts/choices.ts';

type Body = Record<string, unknown>;

/** The body of a creation: numbers that were left empty have their defaults. */
export function webhookBody(form: URLSearchParams): Body {
  const { retry, ...fields } = fieldsOf(form);
  return { ...definedFields(fields), retry: definedFields(retry) };
}

/** The merge patch of a change: numbers that were emptied go back to their defaults. */
export function webhookPatchOf(form: URLSearchParams) {
  const { retry, ...fields } = fieldsOf(form);
  return { ...nulled(fields), retry: nulled(retry) };
}

function fieldsOf(form: URLSearchParams) {
  return {
    name: form.get('name')?.trim() ?? '',
    endpointId: form.get('endpointId') ?? '',
    eventTypes: patternsOf(form),
    encryptionKeyName: textOf(form, 'encryptionKeyName') ?? null,
    customHeaders: readRows((name) => form.getAll(name), HEADER_FIELDS).map((row) => ({
      name: row[HEADER_FIELDS[0]],
      value: row[HEADER_FIELDS[1]],
    })),
    ordered: form.has('ordered'),
    standardWebhooks: form.has('standardWebhooks'),
    maxBatchRecords: numberOf(form, 'maxBatchRecords'),
    maxRecordsPerSecond: numberOf(form, 'maxRecordsPerSecond'),
    heartbeatSeconds: numberOf(form, 'heartbeatSeconds'),
    timeoutSeconds: numberOf(form, 'timeoutSeconds'),
    retry: { policy: textOf(form, 'retry.policy'), maxAttempts: numberOf(form, 'retry.maxAttempts') },
  };
}

export const HEADER_FIELDS = ['customHeaders.name', 'customHeaders.value'] as const;

export function patternsOf(form: URLSearchParams): string[] {
  return chosenPatterns(form.getAll('eventTypes'), form.get('morePatterns') ?? '');
}

/** What was ticked and what was typed beside, each once. */
export function chosenPatterns(ticked: readonly string[], typed: string): string[] {
  return [...new Set([...ticked, ...typed.split(/[\s,]+/).filter((pattern) => pattern !== '')])];
}

function nulled<Members extends Body>(members: Members): Nulled<Members> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, value ?? null])) as Nulled<Members>;
}

type Nulled<Members> = {
  [Name in keyof Members]: undefined extends Members[Name] ? NonNullable<Members[Name]> | null : Members[Name];
};
