/** The keys of a webhook whose records wait, on its page. */
import { type Html, html } from '../../http/html.ts';
import type { WaitingKeys } from '../../webhooks/waiting-keys.ts';
import type { PageCall } from '../frame/call.ts';
import { actionButton, linkButton, section } from '../parts/header.ts';
import { table } from '../parts/list.ts';
import { countOf, sentence, time } from '../parts/text.ts';

/** Keys on the page. */
export const KEYS_SHOWN = 20;

/** Null if no key waits. */
export function waitingKeysSection({ may, csrf }: PageCall, webhookId: string, keys: WaitingKeys | null): Html | null {
  const worst = keys?.items.toSorted((one, other) => other.attemptCount - one.attemptCount)[0];
  if (keys === null || worst === undefined) return null;
  const count = countOf(keys.items.length, 'key');
  const isWhole = keys.nextCursor === null;
  const isOne = keys.items.length === 1 && isWhole;
  const failed =
    worst.attemptCount === 0
      ? ''
      : `; key ${worst.orderingKey} failed ${worst.attemptCount === 1 ? 'once' : `${worst.attemptCount} times`}`;
  return section({
    title: `${isWhole ? count : `More than ${count}`} ${isOne ? 'waits' : 'wait'}${failed}`,
    id: 'waiting-keys',
    lead: 'The first delivery of these keys failed or is late. It holds back the others of its key, and nothing else.',
    content: table({
      caption: 'Waiting keys',
      columns: [
        { label: 'Key', kind: 'main' },
        { label: 'Pending deliveries' },
        { label: 'Failed attempts of the first' },
        { label: 'Last error' },
        { label: 'Next attempt' },
        { label: 'Actions', kind: 'actions' },
      ],
      rows: keys.items.map(({ orderingKey, waitingRecords, attemptCount, error, nextAttemptAt }) => [
        html`<a href="${ofKey('/deliveries', webhookId, orderingKey)}">${orderingKey}</a>`,
        String(waitingRecords),
        String(attemptCount),
        error === null ? '–' : sentence(error),
        nextAttemptAt === null ? 'when its turn comes' : time(Date.parse(nextAttemptAt)),
        may('operator')
          ? html`${giveUpButton(csrf, webhookId, orderingKey)}${sendAgain(webhookId, orderingKey)}`
          : null,
      ]),
    }),
  });
}

function giveUpButton(csrf: Html, webhookId: string, orderingKey: string): Html {
  return actionButton({
    action: `/webhooks/${webhookId}/give-up`,
    csrf,
    fields: { orderingKey },
    label: 'Give up',
    longLabel: `Give up the pending deliveries of the key ${orderingKey}`,
  });
}

function sendAgain(webhookId: string, orderingKey: string): Html {
  const href = `${ofKey('/deliveries/replay', webhookId, orderingKey)}&state=dead`;
  return linkButton({ href, label: 'Send dead ones again', kind: 'quiet' });
}

function ofKey(path: string, webhookId: string, orderingKey: string): string {
  return `${path}?${new URLSearchParams({ webhook: webhookId, orderingKey })}`;
}
