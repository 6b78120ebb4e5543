/** How the bodies of a webhook look (contract §12.1). Pure. */
import { BATCH_RECORDS_DEFAULT, HEARTBEAT_DEFAULT_SECONDS } from './limits.ts';

export const WEBHOOK_FORMATS = ['records', 'standard', 'cloudevents', 'cloudevents-binary'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** The settings that say what a body looks like. */
export type FormatSettings = {
  readonly format: WebhookFormat;
  /** Several CloudEvents in one body. Only with `cloudevents`. */
  readonly batch: boolean;
  /** Without data, which the receiver fetches. Not with `records`. */
  readonly thin: boolean;
};

/** Whether a request carries several events. */
export function carriesSeveral({ format, batch }: Pick<FormatSettings, 'format' | 'batch'>): boolean {
  return format === 'records' || (format === 'cloudevents' && batch);
}

/** The defaults that depend on the format. */
export function formatDefaults(settings: Pick<FormatSettings, 'format' | 'batch'>): {
  readonly maxBatchRecords: number;
  readonly heartbeatSeconds: number;
} {
  return {
    maxBatchRecords: carriesSeveral(settings) ? BATCH_RECORDS_DEFAULT : 1,
    heartbeatSeconds: settings.format === 'records' ? HEARTBEAT_DEFAULT_SECONDS : 0,
  };
}

/** Whether requests have the headers of Standard Webhooks: they are part of the format `standard`, and an addition to others. */
export function signsStandard(webhook: {
  readonly format: WebhookFormat;
  readonly standardWebhooks: boolean;
}): boolean {
  return webhook.standardWebhooks || webhook.format === 'standard';
}

/** The format of one webhook that is not `records`, with what its events need. Plain values, so that it can be sent to a thread. */
export type EventFormat = FormatSettings & EventContext & { readonly format: Exclude<WebhookFormat, 'records'> };

/** The input of an event's encoding besides the event. */
export type EventContext = {
  readonly thin: boolean;
  /** The `source` of CloudEvents whose type has none of its own. */
  readonly source: string;
  /** The sources of event types that have their own, by name. */
  readonly sources: ReadonlyMap<string, string>;
  /** Where a thin event is fetched: the address before and after its id. */
  readonly url: readonly [before: string, after: string];
  /** The event is a sample, and its body says so. */
  readonly test?: boolean | undefined;
};

/** Where the event with this id is fetched. */
export function eventUrl({ url: [before, after] }: Pick<EventContext, 'url'>, id: string): string {
  return `${before}${id}${after}`;
}
