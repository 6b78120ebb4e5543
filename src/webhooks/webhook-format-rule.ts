/** The rules of a webhook's format (contract §12.1), and the defaults that depend on other settings. Pure. */
import { carriesSeveral, type FormatSettings, formatDefaults, WEBHOOK_FORMATS } from '../domain/webhook-format.ts';
import type { FieldProblem } from '../kernel/refusal.ts';
import { definedFields, isObject } from '../kernel/validation.ts';

type Members = Readonly<Record<string, unknown>>;

/** The fields whose defaults depend on the format. */
const DEPENDENT = ['maxBatchRecords', 'heartbeatSeconds'] as const;

/** Why these settings cannot stand together. Every field that takes part gets a problem. */
export function formatProblems({
  format,
  batch,
  thin,
  ...counts
}: FormatSettings & { readonly maxBatchRecords: number; readonly heartbeatSeconds: number }): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const both = (field: string, problem: string, ofFormat: string): void => {
    problems.push({ field, problem }, { field: 'format', problem: ofFormat });
  };
  if (batch && format !== 'cloudevents')
    both(
      'batch',
      `is possible only with the format cloudevents, and the format is ${format}`,
      `${format} has no batches`,
    );
  if (thin && format === 'records')
    both('thin', 'is not possible with the format records', 'records always have their data, so thin must be false');
  const isSingle = !carriesSeveral({ format, batch });
  if (isSingle && counts.maxBatchRecords !== 1)
    both(
      'maxBatchRecords',
      `must be 1 with the format ${format}: a request carries one event`,
      'allows only maxBatchRecords 1',
    );
  if (format !== 'records' && counts.heartbeatSeconds !== 0)
    both(
      'heartbeatSeconds',
      `must be 0 with the format ${format}, which has no empty body`,
      'allows only heartbeatSeconds 0',
    );
  return problems;
}

/** The body with the defaults that depend on its format. What cannot be read is left to the schema. */
export function withFormatDefaults(body: unknown): unknown {
  if (!isObject(body)) return body;
  const settings = settingsOf(body);
  if (settings === null || settings.format === 'records') return body;
  return { ...formatDefaults(settings), ...definedFields(body) };
}

/**
 * The target of a patch. If the patch changes the format, fields at their former defaults follow it unless the patch names them. If it
 * changes the policy of `retry`, members of the former policy go.
 */
export function followingTarget<Target extends object>(target: Target, patch: unknown): Target {
  if (!isObject(patch)) return target;
  const before = target as Members;
  const followed: Record<string, unknown> = { ...before };
  const [old, next] = [settingsOf(before), settingsOf({ ...before, ...patch })];
  if (old !== null && next !== null) {
    const [defaults, wanted] = [formatDefaults(old), formatDefaults(next)];
    for (const field of DEPENDENT)
      if (before[field] === defaults[field] && patch[field] === undefined) followed[field] = wanted[field];
  }
  const { retry } = patch;
  if (isObject(retry) && isObject(before.retry) && retry.policy !== undefined && retry.policy !== before.retry.policy)
    if ([retry.policy, before.retry.policy].includes('schedule')) followed.retry = {};
  return followed as Target;
}

function settingsOf({ format, batch }: Members): Pick<FormatSettings, 'format' | 'batch'> | null {
  const known = WEBHOOK_FORMATS.find((name) => name === (format ?? 'records'));
  return known === undefined ? null : { format: known, batch: batch === true };
}
