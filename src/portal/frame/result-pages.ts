/** `/results/{id}`: the result of a form, as long as it is kept, and its secret once. */
import { html } from '../../http/html.ts';
import { pageHeader } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import type { PageRoute, SharedPageDependencies } from './page.ts';
import { RESULTS_PATH } from './results.ts';

export function resultPages({ pages, results }: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    pages.page(`${RESULTS_PATH}/{id}`, 'both', 'administrator', async (call) => (await results.find(call)) ?? GONE),
  ];
}

const TITLE = 'No longer shown';

const GONE = {
  title: TITLE,
  status: 404,
  content: html`
    ${pageHeader({ title: TITLE })}
    ${notice({
      tone: 'info',
      text: 'A secret is shown once, and only to the session that created it. If nobody copied it, create a new one.',
    })}
  `,
};
