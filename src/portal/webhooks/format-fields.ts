/** The fields of a webhook's format and of its retry schedule, with what depends on them. */

import { type RetrySettings, retrySpanMs } from '../../domain/retry.ts';
import { DAY_MS } from '../../domain/usage.ts';
import type { Webhook } from '../../domain/webhook.ts';
import {
  type FormatSettings,
  formatDefaults,
  WEBHOOK_FORMATS,
  type WebhookFormat,
} from '../../domain/webhook-format.ts';
import { isObject } from '../../kernel/validation.ts';
import { countOf, lengthText, spanText } from '../parts/text.ts';
import { type Body, type FieldTable, type FormField, oneOf, text, tick } from '../record/field-table.ts';

const LABELS: Readonly<Record<WebhookFormat, string>> = {
  records: 'Records',
  standard: 'Standard Webhooks',
  cloudevents: 'CloudEvents',
  'cloudevents-binary': 'CloudEvents in headers',
};

const HINTS: Readonly<Record<WebhookFormat, string>> = {
  records: 'Our own format: one or more events in a body. There is code for it in eight languages.',
  standard:
    'A body with type, timestamp and data, and the headers webhook-id, webhook-timestamp and webhook-signature. Not ' +
    'possible with compression or encryption.',
  cloudevents: 'CloudEvents 1.0 as JSON (structured mode), as many event gateways and functions read them.',
  'cloudevents-binary': 'CloudEvents 1.0 in binary mode: the attributes are ce- headers, and the body is the data.',
};

export function formatFields(): FieldTable {
  return {
    format: oneOf({
      label: 'Format',
      choices: WEBHOOK_FORMATS.map((value) => ({ value, label: LABELS[value], hint: HINTS[value] })),
    }),
    thin: tick({
      label: 'Send a URL in place of the data',
      title: 'Data',
      hint: 'The receiver fetches the event with a token that has the scope records:read. Not with the format Records.',
    }),
  };
}

/** The waits of a schedule, as a list. Text that is no number stays text, so that the schema refuses it. */
export const RETRY_DELAYS: FormField = text(
  {
    label: 'Delays of a schedule (seconds)',
    title: 'Delays',
    isCode: true,
    placeholder: '5, 300, 1800, 7200',
    hint: 'Only for a schedule: 1 to 50 numbers of seconds, each at most 604800, a week.',
  },
  {
    read: (sent, name) => {
      const typed = (sent.get(name) ?? '').split(/[\s,;]+/).filter((one) => one !== '');
      return typed.length === 0 ? undefined : typed.map((one) => (/^\d{1,9}$/.test(one) ? Number(one) : one));
    },
    fill: (value, name) => ({ [name]: Array.isArray(value) ? value.join(', ') : null }),
  },
);

/**
 * The body of a form without the values that another format replaces, and with the members of `retry` that its policy has. A patch
 * (`before` is given) removes the others.
 */
export function withFormat(body: Body, before: Webhook | null): Body {
  const base = before ?? { format: 'records', batch: false };
  const { maxBatchRecords, heartbeatSeconds } = formatDefaults(base);
  const isChanged = (body.format ?? 'records') !== base.format || (body.batch ?? false) !== base.batch;
  const rest = { ...body };
  if (isChanged && body.maxBatchRecords === maxBatchRecords) delete rest.maxBatchRecords;
  if (isChanged && body.heartbeatSeconds === heartbeatSeconds) delete rest.heartbeatSeconds;
  return isObject(body.retry) ? { ...rest, retry: retryOf(body.retry, before !== null) } : rest;
}

function retryOf({ maxAttempts, delaysSeconds, ...retry }: Body, isPatch: boolean): Body {
  const removed = isPatch ? null : undefined;
  const given =
    retry.policy === 'schedule' ? { maxAttempts: removed, delaysSeconds } : { maxAttempts, delaysSeconds: removed };
  return { ...retry, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}

/** A new webhook’s depends on the format that is chosen. */
export function defaultText(before: Webhook | null, name: keyof ReturnType<typeof formatDefaults>): string {
  return before === null ? '' : `Default: ${formatDefaults(before)[name]}.`;
}

/** Also without an order. */
export const HELD_BACK = 'While the receiver fails, one request at a time is sent, and the others are held back.';

export function formatText({ format, batch, thin }: FormatSettings): string {
  return [LABELS[format], ...(batch ? ['in batches'] : []), ...(thin ? ['without the data'] : [])].join(', ');
}

/** `20 attempts over about 2.5 days, then dead`, or `3 attempts, after 5 s, 5 min, over about 5 minutes, then dead` of a schedule. */
export function retriesText(webhook: RetrySettings): string {
  const { maxAttempts, retryDelaysSeconds } = webhook;
  if (maxAttempts === 1) return 'one attempt, then dead';
  const span = retrySpanMs(webhook);
  const length =
    span < DAY_MS ? lengthText(span) : `${Math.round((2 * span) / DAY_MS) / 2} days`.replace(/^1 days/, '1 day');
  const delays = retryDelaysSeconds?.map((seconds) => spanText(seconds * 1000)).join(', ');
  const waits = delays === undefined ? '' : `, after ${delays},`;
  return `${countOf(maxAttempts, 'attempt')}${waits} over about ${length}, then dead`;
}
