/** A receiver that reads the records of webhooks again, at any instance, from the first one on. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEnvelope } from '../../src/wire/envelope.ts';
import { EDGE } from '../support/client.ts';
import { ANSWERED_WITHIN_MS, unanswered } from './answers.ts';
import type { Reading, Sequence } from './history.ts';
import type { Door } from './publisher.ts';

export type Reader = {
  readonly readings: readonly Reading[];
  /** Reads on, from the place of each webhook, until `signal` ends it. */
  readUntil(door: () => Door, signal: AbortSignal): Promise<void>;
  /** Reads each webhook to its end. */
  finish(door: Door): Promise<void>;
  /** Replies that no reader should ever get. */
  readonly faults: readonly string[];
};

const LIMIT = 500;
/** Waiting replies come from a notification or a look of the instance, and must pass nothing over either. */
const WAIT_SECONDS = 1;
const PAUSE_MS = 50;

/** `webhooks` are ids by name. `next` gives the place in the history at which a request is made. */
export function createReader(webhooks: ReadonlyMap<string, string>, next: () => Sequence): Reader {
  const readings: Reading[] = [];
  const faults: string[] = [];
  const through = new Map<string, number>();

  /** Whether the reply said that nothing follows; null without a reply. */
  const read = async ({ url, token }: Door, name: string, waitSeconds: number): Promise<boolean | null> => {
    const askedAt = next();
    const query = `after=${through.get(name) ?? -1}&limit=${LIMIT}&wait=${waitSeconds}`;
    const response = await fetch(`${url}${EDGE}/webhooks/${webhooks.get(name)}/records?${query}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
    }).catch(unanswered('reading', faults));
    const text = await response?.text().catch(unanswered('reading', faults));
    if (response == null || text == null || response.status === 503) return null;
    const parsed = parseEnvelope(Buffer.from(text));
    if (response.status !== 200 || !parsed.ok) {
      faults.push(`reading was answered with ${response.status}: ${text.slice(0, 500)}`);
      return null;
    }
    const { throughOffset, newestOffset } = JSON.parse(text) as { throughOffset: number; newestOffset: number };
    const records = parsed.envelope.records.map(({ offset, messageId, data }) => ({
      offset,
      messageId,
      key: (data as { key: string }).key,
    }));
    readings.push({ webhook: name, askedAt, throughOffset, newestOffset, records });
    through.set(name, throughOffset);
    return throughOffset >= newestOffset;
  };

  return {
    readings,
    faults,
    readUntil: async (door, signal) => {
      const work = async (name: string): Promise<void> => {
        while (!signal.aborted) if ((await read(door(), name, WAIT_SECONDS)) === null) await sleep(PAUSE_MS);
      };
      await Promise.all([...webhooks.keys()].map(work));
    },
    finish: async (door) => {
      for (const name of webhooks.keys()) while ((await read(door, name, 0)) !== true) await sleep(PAUSE_MS);
    },
  };
}
