/** The page that asks before a webhook is deleted. */
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { WebhookListing } from '../../store/port/directory.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { capital, countOf } from '../parts/text.ts';
import { type DeadRecords, deadRecordsOf } from '../record/dead-records.ts';
import { removalPages } from '../record/record-pages.ts';
import { deadCount } from './webhook-detail.ts';
import { webhookEntity } from './webhook-form.ts';
import { listingOf } from './webhook-reading.ts';

export function webhookRemovalPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  return removalPages(dependencies.pages, webhookEntity(dependencies), {
    text: async (call) => {
      const listing = await listingOf(dependencies, call);
      return lossText(listing, await deadRecordsOf(dependencies.store, listing.webhook.progress.webhookNumber));
    },
  });
}

/** Names the data that is deleted with the webhook. */
function lossText({ pendingRecords, webhook }: WebhookListing, dead: DeadRecords): Html {
  const pending = countOf(pendingRecords, 'pending delivery', undefined, 'pending deliveries');
  const keyStays = webhook.encryptionKeyName === null ? '' : 'its PGP key,';
  if (webhook.mode === 'pull')
    return html`
      <div class="prose">
        <p>
          This cannot be undone. The log of the webhook is deleted, with
          ${countOf(pendingRecords, 'pending record', 'no pending records')}.
        </p>
        <p>
          ${capital(`${keyStays} the`.trim())} event types, the same events at other webhooks, and the audit log stay.
          ${instead(webhook, 'let nobody read it')}
        </p>
      </div>
    `;
  return html`
    <div class="prose">
      <p>This cannot be undone. The log of the webhook is deleted:</p>
      <ul>
        ${pendingRecords === 0 ? null : html`<li>${pending}, which will not be sent,</li>`}
        ${dead.records === 0 ? null : html`<li>${deadCount(dead, 'dead ')}, which cannot be sent again,</li>`}
        <li>the list of its deliveries with all attempts.</li>
      </ul>
      <p>
        Its endpoint, ${keyStays} the event types, the same events at other webhooks, and the audit log stay.
        ${instead(webhook, 'send nothing')}
      </p>
    </div>
  `;
}

/** Null for a webhook that does not run: to keep it is to do nothing. */
function instead({ id, progress }: WebhookListing['webhook'], purpose: string): Html | null {
  if (!isRunnable(progress.state)) return null;
  return html`To keep everything and ${purpose}, <a href="/webhooks/${id}">stop the webhook</a> instead.`;
}
