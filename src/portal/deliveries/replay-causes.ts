/** The causes of the dead deliveries that a form of *Send many again* chooses: suggestions, and the sum of each below the count. */

import { type Html, html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { FailureGroup } from '../../store/port/deliveries.ts';
import type { Store } from '../../store/port/store.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readInstant, readText } from '../frame/query.ts';
import { type Suggestion, suggestionOptions } from '../parts/fields.ts';
import { pageHeader } from '../parts/header.ts';
import { withQuery } from '../parts/list.ts';
import { countOf, countText } from '../parts/text.ts';
import { byFrequency, causeText } from '../record/causes.ts';
import { withWebhookId } from './delivery-scope.ts';

export const CAUSES_PATH = '/deliveries/replay/causes';

type Cause = Pick<FailureGroup, 'cause' | 'dead'>;
/** The most frequent cause first. `isWhole` is false if there are more dead deliveries than were examined. */
type Causes = { readonly causes: readonly Cause[]; readonly isWhole: boolean };

const NONE: Causes = { causes: [], isWhole: true };

/** None while the form names no webhook, or no span of time. */
export async function readCauses(store: Store, sent: URLSearchParams): Promise<Causes> {
  const fields = await withWebhookId(store, sent);
  const id = readText(fields, 'webhook') ?? '';
  const webhook = isUuidV7(id) ? await store.webhooks.get(id) : null;
  const period = webhook === null ? null : periodOf(fields);
  if (webhook === null || period === null) return NONE;
  const { webhookNumber } = webhook.progress;
  const offsets = await store.deliveries.offsetsBetween(webhookNumber, period);
  if (offsets === null) return NONE;
  const { groups, isWhole } = await store.deliveries.failures([webhookNumber], offsets);
  return { causes: byFrequency(groups, 'dead'), isWhole };
}

/** Null while people still type a time. */
function periodOf(fields: URLSearchParams): { readonly since: number; readonly until: number | null } | null {
  try {
    return { since: readInstant(fields, 'since') ?? 0, until: readInstant(fields, 'until') };
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** An ordering key leaves fewer of each cause, so they have no number. */
export function causeSuggestions({ causes, isWhole }: Causes, sent: URLSearchParams): Suggestion[] {
  const isCounted = readText(sent, 'orderingKey') === null;
  return causes.map(({ cause, dead }) => {
    const words = causeText(cause).replace(`${cause} `, '');
    const count = countOf(dead, 'delivery', undefined, 'deliveries');
    return { value: cause, label: isCounted ? `${words}, ${isWhole ? '' : 'at least '}${count}` : words };
  });
}

/** The script asks for them whenever the form changes. */
export function replayCausePage({ pages, store }: SharedPageDependencies): PageRoute<'both'> {
  return pages.page(CAUSES_PATH, 'both', 'operator', async ({ query }) => {
    const suggestions = causeSuggestions(await readCauses(store, query), query);
    const title = 'Causes of dead deliveries';
    const partial = suggestionOptions(suggestions);
    return { title, content: html`${pageHeader({ title })}<datalist>${partial}</datalist>`, partial };
  });
}

/** Of several causes, each with the link that chooses it; of one, that `count` deliveries failed with it. */
export function causeLinks(
  path: string,
  query: URLSearchParams,
  { causes, isWhole }: Causes,
  count: number,
): Html | null {
  const [first, ...others] = causes;
  if (first === undefined) return null;
  if (others.length === 0) {
    return first.dead === count ? html`<p>All of them failed with: ${causeText(first.cause)}.</p>` : null;
  }
  const links = causes.map(
    ({ cause, dead }) => html`
      <li>
        <a href="${withQuery(path, query, { cause })}">${causeText(cause)}</a>${' '}
        <span class="quiet">${isWhole ? '' : 'at least '}${countText(dead)}</span>
      </li>
    `,
  );
  return html`<div class="cause-links"><p>Send again only one cause:</p><ul class="uses">${links}</ul></div>`;
}
