/** The pages of webhooks: the list, one webhook with its actions, and its forms. */
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { webhookSuggestionPage } from '../record/webhook-choice.ts';
import { filterPages } from './filter-editor.ts';
import { signaturePage } from './signature-fields.ts';
import { webhookActions } from './webhook-actions.ts';
import { patternsOf } from './webhook-events.ts';
import { webhookFormPages } from './webhook-form-pages.ts';
import { webhookListPage } from './webhook-list.ts';
import { webhookPage } from './webhook-page.ts';
import { webhookRemovalPages } from './webhook-removal.ts';

export function webhookPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    webhookListPage(dependencies),
    webhookSuggestionPage(dependencies),
    ...webhookFormPages(dependencies),
    ...filterPages(dependencies, patternsOf),
    ...webhookPage(dependencies),
    ...webhookActions(dependencies),
    signaturePage(dependencies),
    ...webhookRemovalPages(dependencies),
  ];
}
