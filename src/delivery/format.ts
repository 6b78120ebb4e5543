/** The format of a webhook's bodies (contract §12.1), with what its events need: addresses, and the sources of event types. */

import type { Webhook } from '../domain/webhook.ts';
import type { EventFormat } from '../domain/webhook-format.ts';
import type { Clock } from '../kernel/ids.ts';
import type { EventVerbs } from '../store/port/events.ts';

/** How long the sources of event types are kept. A changed source counts after this at the latest. */
const SOURCES_KEPT_MS = 1000;

const EVENTS_PATH = '/services/api/x/edge/v1/events/';

/** The `source` of CloudEvents while the service has no address, as in a program that does not listen. */
const NO_ADDRESS = 'urn:sallyport';

/** The format of a webhook, or undefined if it is `records`. */
export type FormatOf = (
  webhook: Pick<Webhook, 'id' | 'format' | 'batch' | 'thin' | 'encryptionKeyName'>,
) => Promise<EventFormat | undefined>;

type Dependencies = {
  readonly store: Pick<EventVerbs, 'eventTypes'>;
  readonly clock: Clock;
  /** The address of the service, without a slash at its end; null if it is unknown. */
  readonly publicUrl: () => string | null;
};

export function createFormatOf({ store, clock, publicUrl }: Dependencies): FormatOf {
  let sources: EventFormat['sources'] = new Map();
  let readAt = Number.NEGATIVE_INFINITY;

  const currentSources = async (): Promise<EventFormat['sources']> => {
    const now = clock();
    // Also if the clock was set back.
    if (Math.abs(now - readAt) < SOURCES_KEPT_MS) return sources;
    sources = await store.eventTypes.sources();
    readAt = now;
    return sources;
  };

  return async ({ id, format, batch, thin, encryptionKeyName }) => {
    if (format === 'records') return undefined;
    const address = publicUrl();
    return {
      format,
      batch,
      thin,
      source: address ?? NO_ADDRESS,
      sources: format === 'standard' ? NO_SOURCES : await currentSources(),
      // With a key, the event is read encrypted with it, too.
      url: [`${address ?? ''}${EVENTS_PATH}`, encryptionKeyName === null ? '' : `?webhookId=${id}`],
    };
  };
}

const NO_SOURCES: EventFormat['sources'] = new Map();
